/*
 * The k-word compare-and-swap of package omega (gang.go, machine.go), for spin.
 * Run it with ./check.
 *
 * Each access to what is shared is a step of its own here, as it is one atomic
 * operation there; what a process does by itself is merged into such a step.
 * Versions and gangs are always fresh, which is what the garbage collector
 * makes of them there; version 0 and gang 0 are nil.
 *
 *     here              in Go
 *     word[w]           a machine's word
 *     val, op, prev     of a version; val stands for free, live and the rest
 *     status, dropped   of a gang; dropped: its list of steps is gone
 *     VALUE             version.value
 *     HELP              gang.help and gang.install, with a stack for the recursion
 *     SETTLE            settle
 *     Gang, Lone, Read  Scheduler.commitGang with gang.run, a commit to one
 *                       machine, load
 *
 * A grant adds one to the val of its machines. count is a ghost, raised by one
 * in the step that decides. So no update is lost, and a gang is granted whole
 * or not at all, if val equals count for each machine of a grant at that step
 * and for all machines when all is over; and a read has to return what count
 * was at some moment between its first step and its last.
 *
 * Scenarios: RING, three gangs over machines 0 1, 1 2 and 0 2; LONE, two gangs
 * over the same machines and a lone commit; READ, two gangs and a reader; CUT, two
 * gangs and a cut, or with ONE a gang and a cut. With STOP the first gang's owner may stop for good, anywhere;
 * the others have to end all the same.
 *
 * A cut (cut.go) makes the epoch odd, fences each machine, and makes it even. A
 * fence swaps the word for a version with the same val, which has the epoch.
 * A version has the epoch that its gang read before the words, and in an odd one
 * it has past, the last version of an earlier epoch. The cut has to find the same
 * val on both machines, since each gang is over both.
 *
 *     here              in Go
 *     epoch             Cell.epoch
 *     made, past        epoch and past.val of a version
 *     Cut               Cell.Cut, with Cell.fence and Cell.keepPast
 *
 * Only one cut is modelled, since Cell.cutting admits one at a time. Releases of
 * preempted allocations, jobs and masks are not: they swap no word, and the
 * scenarios of the schedule explorer have them beside a cut.
 *
 * Mutations, in each of which there is a fault to be found: STEAL takes a word
 * without helping the gang in it, CHECKSTORE swaps in two steps, DIRTY reads the
 * next version of an undecided gang, WAIT waits for that gang instead of helping,
 * STALE lets a gang go on although the epoch has changed since it was read, and
 * NOFENCE has the cut read each machine instead of fencing it.
 */

#ifndef TRIES
#define TRIES 1 /* how often a gang is tried anew after it failed */
#endif

#define WORDS 3
#define VERSIONS 24
#define GANGS 8
#define DEPTH 5

#define UNDECIDED 0
#define GRANTED 1
#define FAILED 2

byte word[WORDS];

byte val[VERSIONS];
byte op[VERSIONS];
byte prev[VERSIONS];
byte made[VERSIONS];
byte past[VERSIONS];

byte epoch;

byte status[GANGS];
bit dropped[GANGS];
byte stepWord[16]; /* two steps a gang */
byte stepExpect[16];
byte stepNext[16];

byte versions; /* made so far */
byte gangs;
byte count[WORDS];
byte over; /* processes that have ended */

inline newVersion(v, value, gang, before) {
	versions++;
	assert(versions < VERSIONS);
	v = versions;
	val[v] = value;
	op[v] = gang;
	prev[v] = before
}

/* keepPast gives version v, which follows before, an epoch and its past. */
inline keepPast(v, before, e) {
	made[v] = e;
	if
	:: (e & 1) == 0
	:: (e & 1) == 1 && made[before] == e -> past[v] = past[before]
	:: (e & 1) == 1 && made[before] != e -> past[v] = before
	fi
}

/* grant says that version v is from this step on what machine w is. */
inline grant(w, v) {
	count[w]++;
	assert(val[v] == count[w])
}

/* decide is the compare-and-swap of a gang's status. */
inline decide(g, fate) {
	if
	:: status[g] == UNDECIDED ->
		status[g] = fate;
		if
		:: fate == GRANTED ->
			grant(stepWord[2 * g], stepNext[2 * g]);
			grant(stepWord[2 * g + 1], stepNext[2 * g + 1])
		:: else
		fi
	:: else
	fi
}

/*
 * STOPS is the choice to stop for good. Others see of a process what it writes,
 * so it is enough to offer it once before each write.
 */
#ifdef STOP
#define STOPS :: _pid == 1 -> goto end
#else
#define STOPS
#endif

inline VALUE(v, out, settled) {
	if
	:: atomic { op[v] == 0 -> out = v; settled = 1 }
	:: atomic { op[v] != 0 && status[op[v]] == GRANTED -> out = v; settled = 1 }
	:: op[v] != 0 && status[op[v]] == FAILED ->
		atomic { out = prev[v]; settled = 1 }
	:: op[v] != 0 && status[op[v]] == UNDECIDED ->
#ifdef DIRTY
		atomic { out = v; settled = 0 }
#else
		atomic {
			out = prev[v];
			settled = 0;
			if
			:: out == 0 -> out = v; settled = 1 /* granted and dropped since */
			:: else
			fi
		}
#endif
	fi
}

/* MEET is what is done about an undecided gang in a word. */
#ifdef WAIT
#define MEET(gang) skip
#else
#define MEET(gang) PUSH(gang)
#endif

/* PUSH calls HELP for a gang, which returns at once if the steps are gone. */
inline PUSH(gang) {
	if
	:: dropped[gang]
	:: atomic { !dropped[gang] -> assert(sp < DEPTH); stack[sp] = gang; at[sp] = 0; sp++ }
	fi
}

/*
 * HELP is the loops of gang.help and gang.install in one: at is the step that
 * the gang on top of the stack is at, and one round is one round of install.
 */
inline HELP(gang) {
	PUSH(gang);
	do
	STOPS
	:: sp == 0 -> break
	:: sp > 0 && at[sp - 1] == 2 ->
		atomic { g = stack[sp - 1]; decide(g, GRANTED); sp--; g = 0 }
	:: sp > 0 && at[sp - 1] < 2 ->
		atomic { i = 2 * stack[sp - 1] + at[sp - 1]; raw = word[stepWord[i]] };
		if
		:: atomic { raw == stepNext[i] -> at[sp - 1]++; raw = 0; i = 0 }
		:: raw != stepNext[i] ->
			VALUE(raw, cur, settled);
#ifdef STEAL
			settled = 1;
#endif
			if
			:: !settled -> MEET(op[raw])
			:: atomic { settled && cur != stepExpect[i] ->
				g = stack[sp - 1]; decide(g, FAILED); sp--; g = 0 }
			:: settled && cur == stepExpect[i] ->
				if
				:: atomic { status[stack[sp - 1]] != UNDECIDED -> sp-- }
				:: status[stack[sp - 1]] == UNDECIDED ->
#ifdef CHECKSTORE
					if
					:: word[stepWord[i]] == raw ->
						atomic { word[stepWord[i]] = stepNext[i]; at[sp - 1]++ }
					:: else
					fi
#else
					atomic {
						if
						:: word[stepWord[i]] == raw -> word[stepWord[i]] = stepNext[i]; at[sp - 1]++
						:: else
						fi
					}
#endif
				fi
			fi;
			atomic { raw = 0; cur = 0; settled = 0; i = 0 }
		fi
	od
}

inline SETTLE(w, outRaw, out) {
	do
	STOPS
	:: outRaw = word[w];
		VALUE(outRaw, out, settled);
#ifdef STEAL
		settled = 1;
#endif
		if
		:: settled && op[out] != 0 && prev[out] != 0 ->
			atomic { prev[out] = 0; settled = 0 };
			break
		:: settled && (op[out] == 0 || prev[out] == 0) ->
			settled = 0;
			break
#ifdef WAIT
		:: !settled
#else
		:: !settled -> HELP(op[outRaw])
#endif
		fi
	od
}

/* What a process keeps to itself. */
#define LOCALS \
	byte stack[DEPTH]; byte at[DEPTH]; byte sp; \
	byte g; byte i; byte raw; byte cur; bit settled; \
	byte own; byte first; byte second; byte tries; byte e

proctype Gang(byte a, b) {
	LOCALS;
	do
	:: tries > TRIES -> break
	:: tries <= TRIES ->
		tries++;
#ifdef CUT
		e = epoch;
#endif
		SETTLE(a, raw, first);
		SETTLE(b, raw, second);
#if defined(CUT) && !defined(STALE)
		if
		:: atomic { epoch != e -> raw = 0; first = 0; second = 0; tries--; goto next }
		:: epoch == e
		fi;
#endif
		atomic {
			raw = 0;
			gangs++;
			own = gangs;
			stepWord[2 * own] = a;
			stepExpect[2 * own] = first;
			newVersion(stepNext[2 * own], val[first] + 1, own, first);
			stepWord[2 * own + 1] = b;
			stepExpect[2 * own + 1] = second;
			newVersion(stepNext[2 * own + 1], val[second] + 1, own, second);
			keepPast(stepNext[2 * own], first, e);
			keepPast(stepNext[2 * own + 1], second, e);
			first = 0;
			second = 0
		}
		HELP(own); /* which offers to stop at its end, before the next line */
		dropped[own] = 1;
		assert(status[own] != UNDECIDED);
		if
		STOPS
		:: status[own] == GRANTED ->
			prev[stepNext[2 * own]] = 0;
			if
			STOPS
			:: prev[stepNext[2 * own + 1]] = 0
			fi;
			break
		:: status[own] == FAILED
		fi;
next:		skip
	od;
end:	over++
}

proctype Lone(byte a) {
	LOCALS;
	do
	:: tries > TRIES -> break
	:: tries <= TRIES ->
		tries++;
		SETTLE(a, second, first);
		atomic { newVersion(own, val[first] + 1, 0, 0); first = 0 }
		if
		:: atomic { word[a] == second -> word[a] = own; grant(a, own) }
			break
		:: word[a] != second
		fi
	od;
end:	over++
}

proctype Read(byte a) {
	byte v; byte out; byte low; bit settled;
	atomic { v = word[a]; low = count[a] };
	VALUE(v, out, settled);
	assert(low <= val[out] && val[out] <= count[a]);
	over++
}

/* The machines of the gangs, cut one after the other. */
proctype Cut() {
	LOCALS;
	byte found;
	epoch++;
	do
	:: tries == 2 -> break
	:: tries < 2 ->
#ifdef NOFENCE
		SETTLE(tries, second, first);
		atomic {
			if
			:: tries == 0 -> found = val[first]
			:: else -> assert(found == val[first])
			fi;
			tries++
		}
#else
		SETTLE(tries, second, first);
		atomic {
			newVersion(own, val[first], 0, 0);
			keepPast(own, first, epoch);
			first = 0
		}
		atomic {
			if
			:: word[tries] == second ->
				word[tries] = own;
				if
				:: tries == 0 -> found = val[past[own]]
				:: else -> assert(found == val[past[own]])
				fi;
				tries++
			:: else
			fi;
			second = 0;
			own = 0
		}
#endif
	od;
	epoch++;
end:	over++
}

#ifdef ONE
#define PROCESSES 2
#else
#define PROCESSES 3
#endif

init {
	byte w;
	atomic {
		w = 0;
		for (w : 0 .. WORDS - 1) {
			newVersion(word[w], 0, 0, 0)
		}
#ifdef RING
		run Gang(0, 1);
		run Gang(1, 2);
		run Gang(0, 2);
#endif
#ifdef LONE
		run Gang(0, 1);
		run Gang(0, 1);
		run Lone(1);
#endif
#ifdef READ
		run Gang(0, 1);
		run Gang(0, 1);
		run Read(1);
#endif
#ifdef CUT
		run Gang(0, 1);
#ifndef ONE
		run Gang(0, 1);
#endif
		run Cut();
#endif
	}
	over == PROCESSES;
	/* Whatever is in a word at the end stands for as many grants as there were;
	 * undecided is only what its owner left when it stopped. */
	atomic {
		for (w : 0 .. WORDS - 1) {
			if
			:: op[word[w]] == 0 || status[op[word[w]]] == GRANTED ->
				assert(val[word[w]] == count[w])
			:: else ->
				assert(val[prev[word[w]]] == count[w])
			fi
		}
	}
}
