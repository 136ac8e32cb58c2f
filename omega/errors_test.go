package omega_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// namesItsPackageOnce checks that an error's text names this package in front, and no
// other package anywhere.
func namesItsPackageOnce(t *testing.T, err error) {
	t.Helper()
	require.True(t, strings.HasPrefix(err.Error(), "omega: "), err)
	for _, name := range []string{"omega: ", "resources: ", "locality: "} {
		require.NotContains(t, strings.TrimPrefix(err.Error(), "omega: "), name)
	}
}

// A refusal of a cell names the values that contradict each other.
func TestItemError_NamesTheValues(t *testing.T) {
	space, err := resources.NewSpace(resources.CPU())
	require.NoError(t, err)
	cell, err := omega.NewCell(omega.Config{Space: space})
	require.NoError(t, err)
	ids := make([]omega.MachineID, 3)
	for i, name := range []string{"a", "b", "c"} {
		ids[i], err = cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{9000}})
		require.NoError(t, err)
	}
	need := resources.Vector{1000}
	s, err := cell.Register("s", omega.Limits{Lowest: -1, Highest: 5, Jobs: 1, Held: &resources.Vector{3500}, Machines: omega.Mask{0b101}})
	require.NoError(t, err)
	jobless, err := cell.Register("jobless", omega.Limits{Jobs: 3})
	require.NoError(t, err)
	nothing, err := cell.Register("nothing", omega.Limits{Held: &resources.Vector{}})
	require.NoError(t, err)
	none, err := cell.Register("none", omega.Limits{Machines: omega.Mask{}})
	require.NoError(t, err)
	require.NoError(t, s.BeginJob())
	other := ranked(t, cell, "other")
	high := held(t, other, ids[0], 5, need)[0]
	low := held(t, other, ids[0], 0, need)[0]
	own := held(t, s, ids[0], 2, need, need)
	gone := held(t, other, ids[0], 0, need)[0]
	require.NoError(t, other.Release(gone))
	_, err = cell.Remove(ids[1])
	require.NoError(t, err)

	on := func(m omega.MachineID, p omega.Precedence, victims ...omega.AllocationID) omega.Claim {
		return omega.Claim{Machine: m, Need: need, Precedence: p, Victims: victims}
	}
	large := omega.Claim{Machine: ids[0], Need: resources.Vector{9001}}
	tests := map[string]struct {
		by   *omega.Scheduler
		fill func(tx *omega.Txn)
		is   error
		text string
		want func(e *omega.RefusalError) bool
	}{
		"conflict": {
			other, func(tx *omega.Txn) { tx.Claim(large) }, omega.ErrConflict,
			`omega: claim on "a": need cpu=9001m, free cpu=5: conflict`, nil,
		},
		"machine": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[1], 0)) }, omega.ErrForbidden,
			`omega: claim on "b": machine 1, want one of 0,2: claim is not permitted to the scheduler`,
			func(e *omega.RefusalError) bool { return e.Permitted.Has(2) && !e.Permitted.Has(1) },
		},
		"no machine": {
			none, func(tx *omega.Txn) { tx.Claim(on(ids[0], 0)) }, omega.ErrForbidden,
			`omega: claim on "a": machine 0, want one of none: claim is not permitted to the scheduler`,
			func(e *omega.RefusalError) bool { return e.Permitted != nil },
		},
		"precedence above": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[0], 6)) }, omega.ErrForbidden,
			`omega: claim on "a": precedence 6, want -1 to 5: claim is not permitted to the scheduler`,
			func(e *omega.RefusalError) bool {
				return e.Precedence == 6 && e.Lowest == -1 && e.Highest == 5 && e.Permitted == nil
			},
		},
		"precedence below": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[1], -2)) }, omega.ErrForbidden,
			"precedence -2, want -1 to 5: claim is not permitted", nil,
		},
		"precedence of another claim": {
			s, func(tx *omega.Txn) { tx.Exchange(own, on(ids[0], 0), on(ids[0], 7)) }, omega.ErrForbidden,
			"precedence 7, want -1 to 5", func(e *omega.RefusalError) bool { return e.Precedence == 7 },
		},
		"victim above": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[0], 4, low, high)) }, omega.ErrPrecedence,
			`omega: claim on "a": victim ` + high.String() + " of precedence 5, want one below 4: a victim is not of lower precedence",
			func(e *omega.RefusalError) bool { return e.Allocation == high && e.Victim == 5 && e.Precedence == 4 },
		},
		"victim as high": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[0], 5, high)) }, omega.ErrPrecedence,
			"victim " + high.String() + " of precedence 5, want one below 5", nil,
		},
		"victim of another claim": {
			s, func(tx *omega.Txn) { tx.Exchange(own, on(ids[0], 5), on(ids[0], 0, low)) }, omega.ErrPrecedence,
			"victim " + low.String() + " of precedence 0, want one below 0",
			func(e *omega.RefusalError) bool { return e.Allocation == low && e.Victim == 0 && e.Precedence == 0 },
		},
		"victim that is gone": {
			s, func(tx *omega.Txn) { tx.Claim(on(ids[0], 5, low, gone)) }, omega.ErrReleased,
			`omega: claim on "a": allocation ` + gone.String() + ": allocation is unknown or already released",
			func(e *omega.RefusalError) bool { return e.Allocation == gone },
		},
		"exchange of what is gone": {
			other, func(tx *omega.Txn) { tx.Exchange([]omega.AllocationID{low, gone}, on(ids[0], 0)) }, omega.ErrReleased,
			"allocation " + gone.String() + ": allocation is unknown", nil,
		},
		"exchange of another's": {
			s, func(tx *omega.Txn) { tx.Exchange([]omega.AllocationID{own[0], low}, on(ids[0], 0)) }, omega.ErrNotOwner,
			"allocation " + low.String() + ` of scheduler "other": allocation belongs to another scheduler`, nil,
		},
		"resize of another's": {
			s, func(tx *omega.Txn) { tx.Resize(high, need) }, omega.ErrNotOwner, "allocation " + high.String(), nil,
		},
		"release of another's": {
			s, func(tx *omega.Txn) { tx.Release(high) }, omega.ErrNotOwner,
			"omega: release of allocation " + high.String() + ` of scheduler "other": allocation belongs to another scheduler`, nil,
		},
		"limit of what it holds": {
			s, func(tx *omega.Txn) { tx.Claim(omega.Claim{Machine: ids[0], Need: resources.Vector{1501}}) }, omega.ErrLimit,
			`omega: claim on "a": need cpu=1501m, held cpu=2 of cpu=3500m: limit of the scheduler is reached`, nil,
		},
		"limit of nothing": {
			nothing, func(tx *omega.Txn) { tx.Claim(on(ids[0], 0)) }, omega.ErrLimit, "need cpu=1, held 0 of 0: limit of the scheduler is reached", nil,
		},
		"no job": {
			jobless, func(tx *omega.Txn) { tx.Claim(on(ids[0], 0)) }, omega.ErrLimit,
			`omega: claim on "a": no job is admitted, want one: limit of the scheduler is reached`, nil,
		},
		"gang": {
			other, func(tx *omega.Txn) { tx.Gang = true; tx.Claim(on(ids[0], 0)); tx.Claim(large) }, omega.ErrGang,
			"omega: claim on machine 0: another claim of the gang was refused", nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tx := omega.Txn{Now: time.Unix(1, 0), Grace: time.Second}
			tt.fill(&tx)
			granted, err := tt.by.Commit(&tx)
			require.NoError(t, err)
			require.Zero(t, granted)
			err = tx.Err(0)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, tt.text)
			namesItsPackageOnce(t, err)
			var item *omega.RefusalError
			require.ErrorAs(t, err, &item)
			if tt.want != nil {
				require.True(t, tt.want(item), "%+v", item)
			}
		})
	}
	require.EqualError(t, &omega.RefusalError{Machine: ids[2], Need: need, Reason: omega.ErrConflict},
		"omega: claim on machine 2: need kind0=1000, free 0: conflict", "also of one that a program makes")
	require.EqualError(t, &omega.RefusalError{Release: true}, "omega: release of allocation 0/0/0: no reason")
	require.EqualError(t, &omega.RefusalError{Reason: omega.ErrNoRoom, Need: need, Tasks: 3, Found: 1, Space: cell.Space()},
		"omega: need 3 x "+cell.Space().Format(need)+", missing room for 2: no room")
	require.EqualError(t, &omega.RefusalError{Reason: omega.ErrLimit, Need: need, Scheduler: "s", Held: need, Limit: need, Space: cell.Space()},
		fmt.Sprintf(`omega: scheduler "s": need %[1]s, held %[1]s of %[1]s: limit of the scheduler is reached`, cell.Space().Format(need)))
}

func commitErr(s *omega.Scheduler, claims ...omega.Claim) error {
	tx := omega.Txn{Gang: true}
	for _, c := range claims {
		tx.Claim(c)
	}
	_, err := s.Commit(&tx)
	return err
}

func TestErrors_OfCallsNameTheValues(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{resources.MaxQuantity / 2, 5})
	s, err := cell.Register("s", omega.Limits{Gang: 1, Jobs: 1, Held: &resources.Vector{7}})
	require.NoError(t, err)
	require.NoError(t, s.BeginJob())
	held(t, register(t, cell, "other"), ids[0], 0, resources.Vector{3, 4})
	dead := register(t, cell, "dead")
	deputy, err := dead.Deputy("deputy", omega.Limits{})
	require.NoError(t, err)
	_, err = cell.Replace("dead")
	require.NoError(t, err)
	left := register(t, cell, "left")
	require.NoError(t, left.Leave())
	gone, err := cell.Add(omega.Machine{Name: "gone"})
	require.NoError(t, err)
	_, err = cell.Remove(gone)
	require.NoError(t, err)
	second := func(_ any, err error) error { return err }
	full := resources.Vector{resources.MaxQuantity}
	for text, tt := range map[string]struct{ err, is error }{
		`omega: machine "m": capacity kind0=4611686018427387904: with kind0=4611686018427387904,kind1=10 in the cell it is more than 2^62 of a kind: invalid quantity`: {
			second(cell.Add(omega.Machine{Name: "m", Capacity: full})), resources.ErrQuantity,
		},
		`omega: machine "m": capacity: invalid quantity: kind1=-1, want 0 to 2^62`:      {second(cell.Add(omega.Machine{Name: "m", Capacity: resources.Vector{0, -1}})), resources.ErrQuantity},
		`omega: machine "node-0": capacity: invalid quantity: kind0=-1, want 0 to 2^62`: {cell.SetCapacity(ids[0], resources.Vector{-1}), resources.ErrQuantity},
		`omega: machine "node-0": capacity kind0=3,kind1=3, kind0=3,kind1=4 is allocated: capacity is below what is in use`: {
			cell.SetCapacity(ids[0], resources.Vector{3, 3}), omega.ErrInUse,
		},
		`omega: unknown machine 7`:                                                            {cell.Drain(machineAt(cell, 7)), omega.ErrUnknown},
		`omega: machine 2: machine was removed`:                                               {cell.Drain(gone), omega.ErrRemoved},
		`omega: unknown account 9`:                                                            {second(cell.Usage(9)), omega.ErrUnknown},
		`omega: unknown scheduler "nobody"`:                                                   {second(cell.Replace("nobody")), omega.ErrUnknown},
		`omega: unknown item 0 of a transaction of 0`:                                         {new(omega.Txn).Err(0), omega.ErrUnknown},
		`omega: unknown job: scheduler "other" has none admitted`:                             {must(cell.Replace("other")).EndJob(), omega.ErrUnknown},
		`omega: unknown machine 7 in item 0`:                                                  {commitErr(s, claim(machineAt(cell, 7), 1)), omega.ErrUnknown},
		`omega: item 1: needs add up to more than 2^62 of a kind`:                             {commitErr(must(cell.Register("wide", omega.Limits{})), claim(ids[0], resources.MaxQuantity), claim(ids[0], 1)), resources.ErrQuantity},
		`omega: scheduler "s": gang of 2 claims, limit of 1`:                                  {commitErr(s, claim(ids[0], 1), claim(ids[1], 1)), omega.ErrLimit},
		`omega: scheduler "s": 1 jobs admitted, limit of 1`:                                   {s.BeginJob(), omega.ErrLimit},
		`omega: scheduler "s": need kind0=8, limit of kind0=7`:                                {s.Wait(t.Context(), resources.Vector{8}), omega.ErrLimit},
		`omega: scheduler "s" waits for need 0: invalid quantity`:                             {s.Wait(t.Context(), resources.Vector{}), resources.ErrQuantity},
		`omega: scheduler "x": limits of jobs -1, gang 0: want 0`:                             {second(cell.Register("x", omega.Limits{Jobs: -1})), omega.ErrLimit},
		`omega: scheduler "x": precedence from 1 to 0: want`:                                  {second(cell.Register("x", omega.Limits{Lowest: 1})), omega.ErrLimit},
		`omega: scheduler "x": limit of what it may hold: invalid`:                            {second(cell.Register("x", omega.Limits{Held: &resources.Vector{-1}})), resources.ErrQuantity},
		`omega: invalid name: scheduler "s" is registered already`:                            {second(cell.Register("s", omega.Limits{})), omega.ErrName},
		`omega: allocation 0/0/0: allocation is unknown`:                                      {second(cell.ReadyAt(omega.AllocationID{})), omega.ErrReleased},
		`omega: scheduler was replaced by a successor: "dead", epoch 0`:                       {commitErr(dead, claim(ids[0], 1)), omega.ErrSuperseded},
		`omega: scheduler was replaced by a successor: "dead", epoch 0, and with it "deputy"`: {commitErr(deputy, claim(ids[0], 1)), omega.ErrSuperseded},
		`omega: scheduler has left the cell: "left"`:                                          {commitErr(left, claim(ids[0], 1)), omega.ErrLeft},
	} {
		require.Error(t, tt.err, text)
		require.ErrorIs(t, tt.err, tt.is, text)
		require.ErrorContains(t, tt.err, text)
		namesItsPackageOnce(t, tt.err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The error of a long mask shows a part of it.
func TestItemError_ShowsAPartOfALongMask(t *testing.T) {
	cell, ids := newCell(t, 2, resources.Vector{1})
	mask := omega.NewMask(func(yield func(locality.Node) bool) {
		for n := locality.Node(0); n < 1<<16 && yield(n); n += 2 {
			continue
		}
	})
	s, err := cell.Register("s", omega.Limits{Machines: mask})
	require.NoError(t, err)
	var tx omega.Txn
	require.Zero(t, commit(t, s, &tx, claim(ids[1], 1)))
	require.ErrorContains(t, tx.Err(0), "machine 1, want one of 0,2,4,6,8,10,12,")
	require.ErrorContains(t, tx.Err(0), ",...: claim is not permitted")
	require.Less(t, len(tx.Err(0).Error()), 200)
}
