/*
 * Gangs whose versions are used again (gang.go, machine.go, package reclaim), for
 * spin. Run it with ./check.
 *
 * gang.pml has versions that are always fresh, and reclaim.pml has no gangs. Here a
 * scheduler swaps two words by gangs and one of them by lone commits. It uses again
 * the versions of its own that left a word by a lone swap or by a granted gang.
 * Object 0 and gang 0 are nil.
 *
 *     here                in Go
 *     word[w]             a machine's word
 *     maker, kept         of an object; KEEP is Word.KeepFor of a machine's word
 *     lo, hi              the two halves of a version's value
 *     op, prev            of a version; PREV is Word.Keep of prev
 *     status, dropped     of a gang; dropped: its list of steps is gone
 *     VALUE               version.value
 *     HELP                gang.help and gang.install
 *     RETIRE              Maker.Retire, as commitOne and commitGang call it
 *     Maker               a scheduler, by gangs and lone commits
 *     Help                a scheduler that uses no version again, by lone commits
 *     Read                load, as in Cell.State
 *
 * Each access to what is shared is a step of its own. dead is a ghost: the object is
 * its maker's to write. No other process may read a field of it then but maker and
 * kept. count is a ghost as in gang.pml.
 *
 * Scenarios: READ, a maker, a reader and a helper; BOTH, two makers and a reader; TWO,
 * a maker and two helpers. With STOP the maker may stop for good, anywhere; the others
 * have to end all the same.
 *
 * Mutations, in each of which there is a fault to be found: RAWPREV reads what prev
 * points to without keeping it, UNCHECKED keeps it and does not load prev again, EARLY
 * looks whether a version is kept before prev is dropped, BLIND retires what is kept,
 * UNDER retires the value of a word that points to a version of a failed gang, RAWHELP
 * has helpers swap what they have not kept, and LATE has a helper swap without a look at
 * the status.
 */

#ifndef TRIES
#define TRIES 2 /* commits of a maker */
#endif
#ifndef HELPS
#define HELPS 1 /* commits of a helper */
#endif

#define OBJECTS 16
#define GANGS 8
#define DEPTH 3

#define UNDECIDED 0
#define GRANTED 1
#define FAILED 2

byte word[2];
byte maker[OBJECTS];
bit kept[OBJECTS];
byte lo[OBJECTS];
byte hi[OBJECTS];
byte op[OBJECTS];
byte prev[OBJECTS];
bit dead[OBJECTS];

byte status[GANGS];
bit dropped[GANGS];
byte expects[16]; /* two words a gang */
byte nexts[16];

byte objects; /* made so far */
byte gangs;
byte count[2];
byte over;

inline fresh(o, m) {
	objects++;
	assert(objects < OBJECTS);
	o = objects;
	maker[o] = m
}

inline decide(g, fate) {
	if
	:: status[g] == UNDECIDED ->
		status[g] = fate;
		if
		:: fate == GRANTED ->
			count[0]++;
			assert(lo[nexts[2 * g]] == count[0]);
			count[1]++;
			assert(lo[nexts[2 * g + 1]] == count[1])
		:: else
		fi
	:: else
	fi
}

#ifdef STOP
#define STOPS :: me == 1 -> goto end
#else
#define STOPS
#endif

/* KEEP is KeepFor: as is 0 for a process that is no maker, and for one that helps. */
inline KEEP(w, out, as) {
	do
	:: out = word[w];
		if
		:: maker[out] == 0 || maker[out] == as -> break
		:: else
		fi;
		kept[out] = 1;
		if
		:: word[w] == out -> break
		:: word[w] != out
		fi
	od
}

/* PREV keeps what prev of v points to. */
inline PREV(v, out) {
#ifdef RAWPREV
	out = prev[v]
#else
	do
	:: out = prev[v];
		if
		:: maker[out] == 0 -> break /* also if out is nil */
		:: else
		fi;
		kept[out] = 1;
#ifdef UNCHECKED
		break
#else
		if
		:: prev[v] == out -> break
		:: prev[v] != out
		fi
#endif
	od
#endif
}

inline VALUE(v, out, settled) {
	atomic { assert(!dead[v]); g = op[v] };
	if
	:: g == 0 -> out = v; settled = 1
	:: g != 0 ->
		if
		:: atomic { status[g] == GRANTED -> g = 0; out = v; settled = 1 }
		:: atomic { status[g] == FAILED -> g = 0 };
			atomic { assert(!dead[v]); out = prev[v]; settled = 1 }
		:: atomic { status[g] == UNDECIDED -> g = 0 };
			PREV(v, out);
			if
			:: out == 0 -> out = v; settled = 1
			:: out != 0 -> settled = 0
			fi
		fi
	fi
}

inline PUSH(gang) {
	if
	:: dropped[gang]
	:: atomic { !dropped[gang] -> assert(sp < DEPTH); stack[sp] = gang; at[sp] = 0; sp++ }
	fi
}

/* HELP is gang.help with gang.install; as is the maker that runs its own gang. */
inline HELP(gang, as) {
	PUSH(gang);
	do
	STOPS
	:: sp == 0 -> break
	:: sp > 0 && at[sp - 1] == 2 ->
		atomic { g = stack[sp - 1]; decide(g, GRANTED); sp--; g = 0 }
	:: sp > 0 && at[sp - 1] < 2 ->
#ifdef RAWHELP
		raw = word[at[sp - 1]];
#else
		if
		:: sp == 1 -> KEEP(at[sp - 1], raw, as)
		:: sp > 1 -> KEEP(at[sp - 1], raw, 0)
		fi;
#endif
		i = 2 * stack[sp - 1] + at[sp - 1];
		if
		:: atomic { raw == nexts[i] -> at[sp - 1]++; raw = 0; i = 0 }
		:: raw != nexts[i] ->
			VALUE(raw, cur, settled);
			if
			:: !settled -> PUSH(op[raw])
			:: atomic { settled && cur != expects[i] ->
				g = stack[sp - 1]; decide(g, FAILED); sp--; g = 0 }
			:: settled && cur == expects[i] ->
#ifdef LATE
				atomic {
					if
					:: word[at[sp - 1]] == raw -> word[at[sp - 1]] = nexts[i]; at[sp - 1]++
					:: else
					fi
				}
#else
				if
				:: atomic { status[stack[sp - 1]] != UNDECIDED -> sp-- }
				:: status[stack[sp - 1]] == UNDECIDED ->
					atomic {
						if
						:: word[at[sp - 1]] == raw -> word[at[sp - 1]] = nexts[i]; at[sp - 1]++
						:: else
						fi
					}
				fi
#endif
			fi;
			atomic { raw = 0; cur = 0; settled = 0; i = 0 }
		fi
	od
}

inline SETTLE(w, outRaw, out, as) {
	do
	:: KEEP(w, outRaw, as);
		VALUE(outRaw, out, settled);
		if
		:: settled ->
			settled = 0;
			assert(!dead[out]);
			if
			:: op[out] != 0 && prev[out] != 0 -> prev[out] = 0
			:: else
			fi;
			break
		:: !settled -> g = op[outRaw]; own = g; g = 0; HELP(own, 0); own = 0
		fi
	od
}

/* NEXT takes a version to be written. */
inline NEXT(o) {
	atomic {
		if
		:: n > 0 -> n--; o = spare[n]; spare[n] = 0
		:: n == 0 -> fresh(o, me); dead[o] = 1
		fi
	}
}

inline WRITE(o, before, gang) {
	atomic { assert(!dead[before] && lo[before] == hi[before]); lo[o] = lo[before] + 1 };
	atomic {
		hi[o] = lo[o];
		prev[o] = 0;
		op[o] = gang
	}
}

/* RETIRE is for raw that has left its word, which stood for out. */
inline RETIRE(raw, out) {
#ifdef UNDER
	if
	:: atomic { maker[out] == me && !kept[out] && !dead[out] -> dead[out] = 1; spare[n] = out; n++ }
	:: else
	fi
#else
	if
#ifdef BLIND
	:: atomic { raw == out && maker[raw] == me -> dead[raw] = 1; spare[n] = raw; n++ }
#else
	:: atomic { raw == out && maker[raw] == me && !kept[raw] -> dead[raw] = 1; spare[n] = raw; n++ }
#endif
	:: else
	fi
#endif
}

#define LOCALS \
	byte stack[DEPTH]; byte at[DEPTH]; byte sp; \
	byte g; byte i; byte raw; byte cur; bit settled; byte own; byte tries

proctype Maker(byte me) {
	LOCALS;
	byte spare[6]; byte n;
	byte raw0; byte old0; byte raw1; byte old1; byte next0; byte next1; bit early0; bit early1;
	do
	STOPS
	:: tries == TRIES -> break
	:: tries < TRIES ->
		tries++;
		if
		:: SETTLE(0, raw0, old0, me);
			NEXT(next0);
			WRITE(next0, old0, 0);
			if
			STOPS
			:: atomic { word[0] == raw0 -> word[0] = next0; dead[next0] = 0; count[0]++; assert(lo[next0] == count[0]) };
				RETIRE(raw0, old0)
			:: atomic { word[0] != raw0 -> spare[n] = next0; n++ }
			fi
		:: SETTLE(0, raw0, old0, me);
			SETTLE(1, raw1, old1, me);
			NEXT(next0);
			NEXT(next1);
			atomic { gangs++; own = gangs; assert(gangs < GANGS) };
			WRITE(next0, old0, own);
			WRITE(next1, old1, own);
			atomic {
				prev[next0] = old0;
				prev[next1] = old1;
				expects[2 * own] = old0;
				nexts[2 * own] = next0;
				expects[2 * own + 1] = old1;
				nexts[2 * own + 1] = next1;
				dead[next0] = 0;
				dead[next1] = 0
			};
			HELP(own, me);
			dropped[own] = 1;
			assert(status[own] != UNDECIDED);
			if
			:: status[own] == GRANTED ->
#ifdef EARLY
				early0 = kept[raw0];
				early1 = kept[raw1];
#endif
				prev[next0] = 0;
				if
				STOPS
				:: prev[next1] = 0
				fi;
#ifdef EARLY
				atomic {
					if
					:: raw0 == old0 && maker[raw0] == me && !early0 -> dead[raw0] = 1; spare[n] = raw0; n++
					:: else
					fi;
					if
					:: raw1 == old1 && maker[raw1] == me && !early1 -> dead[raw1] = 1; spare[n] = raw1; n++
					:: else
					fi
				}
#else
				RETIRE(raw0, old0);
				RETIRE(raw1, old1)
#endif
			:: status[own] == FAILED ->
				skip
			fi
		fi;
		atomic { raw0 = 0; old0 = 0; raw1 = 0; old1 = 0; next0 = 0; next1 = 0; own = 0; early0 = 0; early1 = 0 }
	od;
end:	over++
}

proctype Help(byte w) {
	LOCALS;
	byte me; byte raw0; byte old0; byte next0;
	do
	:: tries == HELPS -> break
	:: tries < HELPS ->
		tries++;
		SETTLE(w, raw0, old0, 0);
		atomic {
			assert(!dead[old0] && lo[old0] == hi[old0]);
			fresh(next0, 0);
			lo[next0] = lo[old0] + 1;
			hi[next0] = lo[next0]
		};
		if
		:: atomic { word[w] == raw0 -> word[w] = next0; count[w]++; assert(lo[next0] == count[w]) }
		:: word[w] != raw0
		fi;
		atomic { raw0 = 0; old0 = 0; next0 = 0 }
	od;
end:	over++
}

proctype Read(byte w) {
	byte raw; byte out; byte low; byte high; byte v; byte g; byte me; bit settled;
	low = count[w];
	KEEP(w, raw, 0);
	VALUE(raw, out, settled);
	atomic { high = count[w]; assert(!dead[out]); v = lo[out]; assert(low <= v && v <= high) };
	atomic { assert(!dead[out] && hi[out] == v) };
	over++
}

init {
	atomic {
		fresh(word[0], 1); /* as if the first maker had put them there */
		fresh(word[1], 1);
#ifdef READ
		run Maker(1);
		run Read(1);
		run Help(0);
#endif
#ifdef BOTH
		run Maker(1);
		run Maker(2);
		run Read(0);
#endif
#ifdef TWO
		run Maker(1);
		run Help(0);
		run Help(1);
#endif
	}
	over == 3
}
