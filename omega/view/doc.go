// Package view shows a cell and its pools in a browser, live: the use of each machine,
// the holdings of each tenant beside its fair share, and the requests that wait, with
// the reason.
//
//	http.Handle("/cell/", view.Handler(view.Config{Cell: cell, Pools: pools}))
//
//	cell, pools, loops        one frame          viewers
//	┌────────────────┐   ┌─────────────────┐   ┌─────────┐
//	│ what changed   ├──►│ 4 a second, if  ├──►│ browser │
//	│ since the last │   │ there is a      ├──►│ curl    │
//	│ frame          │   │ viewer          ├──►│ top     │
//	└────────────────┘   └─────────────────┘   └─────────┘
//
// The page needs no network but this handler. It is read only. Without a viewer nothing
// is looked at, and no goroutine runs but a call of statistics that still waits.
//
// # Paths
//
// All paths are relative to where the handler is mounted, with or without
// [http.StripPrefix]. They answer GET and HEAD only.
//
//	.          the page; the overview as JSON for Accept: application/json or ?format=json
//	machines   ?from=N: up to 1,000 machines with their amounts, from number N on
//	machine    ?n=N: one machine with its allocations
//	stream     ?by=COLOUR: server-sent events, see below
//
// COLOUR is "dominant", the name of a kind of resource, or "owner". Amounts in JSON are
// in base units, by kind; the overview says how many base units a written unit has.
//
// # Stream
//
// Each event of type "machines" has one byte a machine, by number, or the changes since
// the last one, where these are shorter. The data are three fields:
//
//	1 full !!Q}        "full": the state of each machine
//	1 diff 37 Q 4 !    "diff": pairs of a gap and a state, as text without blanks
//
// The first field is a number that changes when another cell is shown. A state is a
// character, see the table. A gap is how many machines are passed over since the last
// change, in digits of base 46, the lowest first: '!' to 'N' end the number, 'O' to '|'
// have 0 to 45 and go on.
//
//	'!' to 'q'  0 to 80: eightieths of the capacity, or the number of an owner
//	'r'         an owner beyond the 80 that are told apart
//	's'         its owner was not looked up yet
//	'z'         draining
//	'{'         no machine has the number
//	'|'         it has nothing of the kind
//
// An event of type "overview" is the JSON of the page's path. One of type "owners" has the
// names of owners as JSON, by number from 1. One of type "decisions" has an array of
// refusals and preemptions.
//
// # Security
//
// The page shows names of tenants, labels and errors: mount it behind a password,
// as you do with net/http/pprof, or replace names by Config.Filter. Requests that a page of another site makes are refused.
package view
