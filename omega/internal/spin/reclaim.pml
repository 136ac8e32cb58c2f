/*
 * Words whose objects their maker writes anew (package reclaim), for spin. Run it
 * with ./check.
 *
 * Each access to what is shared is a step of its own here, as it is one atomic
 * operation there, or one plain access of which another goroutine may see the half:
 * an object has a value in two parts, lo and hi, that are read and written one by one.
 * Object 0 is nil.
 *
 *     here              in Go
 *     word[w]           Word.cur
 *     maker, kept       of an Object
 *     lo, hi            Object.V
 *     KEEP              Word.KeepFor
 *     NEXT, RETIRE      Maker.Next, Maker.Retire
 *     Maker             Scheduler.applyPlain, on one word or the other
 *     Read              load, as in Cell.State
 *     Help              a commit of another path, whose objects have no maker
 *
 * A swap adds one to the value of its word. count is a ghost, raised by one in the
 * step of the swap. So no update is lost and nothing is read of an object that is
 * written anew, if what is swapped in equals count at that step, and what a reader
 * finds equals what count was when it last loaded the word.
 *
 * Scenarios: READ, a maker on two words and two readers of one of them; HELP, a maker,
 * a reader and a helper on one word; MAKERS, two makers on one word and a reader. With
 * STOP a maker may stop for good, anywhere; the others have to end all the same.
 *
 * Mutations, in each of which there is a fault to be found: UNKEPT reads without
 * keeping, UNCHECKED keeps and does not load the word again, BLIND retires what is
 * kept, EARLY looks whether it is kept before the swap, RESET makes a kept object one
 * that is not when it is used again, FOREIGN retires what another maker made, and
 * RAWHELP has the helper swap what it has not kept.
 */

#define OBJECTS 14
#ifndef TRIES
#define TRIES 4 /* swaps that a maker tries */
#endif

byte word[2];
byte maker[OBJECTS];
bit kept[OBJECTS];
byte lo[OBJECTS];
byte hi[OBJECTS];
byte objects; /* made so far */
byte count[2];
byte over;

inline fresh(o, m) {
	objects++;
	assert(objects < OBJECTS);
	o = objects;
	maker[o] = m
}

#ifdef STOP
#define STOPS :: me == 1 -> goto end
#else
#define STOPS
#endif

/* KEEP has count in low as it was at its last load of the word. */
inline KEEP(w, out, low) {
	do
	:: atomic { out = word[w]; low = count[w] };
		if
		:: maker[out] == 0 || maker[out] == me -> break
		:: else
		fi;
#ifdef UNKEPT
		break
#else
		kept[out] = 1;
#ifdef UNCHECKED
		break
#else
		if
		:: atomic { word[w] == out -> low = count[w] } break
		:: word[w] != out
		fi
#endif
#endif
	od
}

proctype Maker(byte me; bit both) {
	byte raw; byte next; byte spare; byte v; byte u; byte low; byte tries; bit was; bit w;
	do
	STOPS
	:: tries == TRIES -> break
	:: tries < TRIES ->
		tries++;
		if
		:: w = 0
		:: both -> w = 1
		fi;
		KEEP(w, raw, low);
		v = lo[raw];
		u = hi[raw];
		assert(v == u);
		atomic {
			if
			:: spare != 0 ->
				next = spare;
				spare = 0;
#ifdef RESET
				kept[next] = 0
#endif
			:: else -> fresh(next, me)
			fi
		}
		lo[next] = v + 1;
		if
		STOPS
		:: hi[next] = v + 1
		fi;
#ifdef EARLY
		was = kept[raw];
#endif
		if
		STOPS
		:: atomic { word[w] == raw -> word[w] = next; count[w]++; assert(lo[next] == count[w]) }
#ifndef EARLY
			was = kept[raw];
#endif
#ifdef BLIND
			was = 0;
#endif
			atomic {
				if
#ifdef FOREIGN
				:: !was -> spare = raw
#else
				:: maker[raw] == me && !was -> spare = raw
#endif
				:: else
				fi
			}
		:: atomic { word[w] != raw -> spare = next }
		fi;
		atomic { raw = 0; next = 0; v = 0; u = 0; low = 0; was = 0; w = 0 }
	od;
end:	over++
}

proctype Read() {
	byte out; byte v; byte low; byte me;
	KEEP(0, out, low);
	v = lo[out];
	assert(v == low);
	v = hi[out];
	assert(v == low);
	over++
}

proctype Help() {
	byte raw; byte next; byte v; byte low; byte me; byte tries;
	do
	:: tries == 2 -> break
	:: tries < 2 ->
		tries++;
#ifdef RAWHELP
		raw = word[0];
		low = lo[raw];
#else
		KEEP(0, raw, low);
#endif
		v = lo[raw];
		assert(v == low);
		atomic { fresh(next, 0); lo[next] = v + 1; hi[next] = v + 1 }
		if
		:: atomic { word[0] == raw -> word[0] = next; count[0]++; assert(lo[next] == count[0]) }
		:: word[0] != raw
		fi;
		atomic { raw = 0; next = 0; v = 0; low = 0 }
	od;
	over++
}

init {
	atomic {
		fresh(word[0], 1); /* as if the first maker had put it there */
		fresh(word[1], 0);
#ifdef READ
		run Maker(1, 1);
		run Read();
		run Read();
#endif
#ifdef HELP
		run Maker(1, 0);
		run Read();
		run Help();
#endif
#ifdef MAKERS
		run Maker(1, 0);
		run Maker(2, 0);
		run Read();
#endif
	}
	over == 3;
	assert(lo[word[0]] == count[0] && lo[word[1]] == count[1])
}
