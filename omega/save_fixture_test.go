package omega_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/locality"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

func save(tb require.TestingT, cell *omega.Cell) []byte {
	var file bytes.Buffer
	require.NoError(tb, cell.Save(&file))
	return file.Bytes()
}

func dump(tb testing.TB, cell *omega.Cell) string {
	tb.Helper()
	var text bytes.Buffer
	require.NoError(tb, cell.Dump(&text))
	return text.String()
}

// fullCell returns a cell that has some of everything, and its schedulers.
func fullCell(tb testing.TB) (*omega.Cell, []*omega.Scheduler) {
	tb.Helper()
	space, err := resources.NewSpace(resources.CPU(), resources.Memory())
	require.NoError(tb, err)
	cell, err := omega.NewCell(omega.Config{Space: space})
	require.NoError(tb, err)
	add := func(name string, attributes map[string]string) omega.MachineID {
		id, err := cell.Add(omega.Machine{Name: name, Capacity: resources.Vector{8000, 1 << 34}, Attributes: attributes})
		require.NoError(tb, err)
		return id
	}
	ids := []omega.MachineID{add("a", map[string]string{"arch": "arm64", "html": "<&>", "gpu": ""}), add("b", nil), add("c", nil), add("d", nil), add("e", nil)}
	ads := accountOf(cell, "ads")
	accountOf(cell, "nobody yet")

	limits := omega.Limits{
		Held: &resources.Vector{30000, 1 << 40}, Jobs: 3, Gang: 100, Lowest: -5, Highest: 5,
		Machines: omega.NewMask(slices.Values([]locality.Node{0, 1, 2, 3, 70})),
	}
	batch, err := cell.Register("batch", limits)
	require.NoError(tb, err)
	require.NoError(tb, batch.BeginJob())
	require.NoError(tb, batch.BeginJob())
	batch, err = cell.Replace("batch")
	require.NoError(tb, err)
	service, err := cell.Register("service", omega.Limits{Highest: 200})
	require.NoError(tb, err)
	idle, err := cell.Register("idle", omega.Limits{Machines: omega.Mask{}})
	require.NoError(tb, err)

	var tx omega.Txn
	for i := range 12 {
		c := claim(ids[i%4], 2000, 1<<30)
		if c.Precedence = omega.Precedence(i%3 - 1); i%2 == 0 {
			c.Account = ads
		}
		tx.Claim(c)
	}
	offer := claim(ids[0], 1000)
	offer.Grantee = service
	tx.Claim(offer)
	granted, err := batch.Commit(&tx)
	require.NoError(tb, err)
	require.Equal(tb, 13, granted)

	// On b, two are preempted; one of them has let go.
	var victims []omega.AllocationID
	for _, i := range []int{1, 5} {
		a, _ := tx.Allocation(i)
		victims = append(victims, a)
	}
	preempting := omega.Txn{Now: time.Date(2013, 4, 15, 12, 0, 0, 5, time.UTC), Grace: time.Minute}
	c := claim(ids[1], 5000)
	c.Precedence, c.Victims = 100, victims
	preempting.Claim(c)
	granted, err = service.Commit(&preempting)
	require.NoError(tb, err)
	require.Equal(tb, 1, granted)
	require.NoError(tb, batch.Release(victims[1]))

	// C is lost, and its number is another's; d and e are gone, a drains.
	for _, m := range []omega.MachineID{ids[3], ids[2], ids[4]} {
		_, err = cell.Remove(m)
		require.NoError(tb, err)
	}
	add("c", nil) // in place of e
	require.NoError(tb, cell.Drain(ids[0]))
	return cell, []*omega.Scheduler{batch, service, idle}
}

// requireAlike compares all that two cells say of themselves. It replaces the
// schedulers of the restored one, which it returns.
func requireAlike(t require.TestingT, saved, restored *omega.Cell, schedulers []*omega.Scheduler) []*omega.Scheduler {
	require.NoError(t, restored.Check())
	var texts, files [2]bytes.Buffer
	for i, c := range []*omega.Cell{saved, restored} {
		require.NoError(t, c.Dump(&texts[i]))
		require.NoError(t, c.Save(&files[i]))
	}
	require.Equal(t, texts[0].String(), texts[1].String())
	require.Equal(t, files[0].Bytes(), files[1].Bytes())
	require.Equal(t, slices.Collect(saved.Machines()), slices.Collect(restored.Machines()))
	allocations := slices.Collect(saved.Allocations())
	require.Equal(t, allocations, slices.Collect(restored.Allocations()))
	for _, a := range allocations {
		want, err := saved.ReadyAt(a.ID)
		require.NoError(t, err)
		got, err := restored.ReadyAt(a.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for account := omega.Account(0); ; account++ {
		want, ok := saved.AccountName(account)
		got, same := restored.AccountName(account)
		require.Equal(t, ok, same)
		require.Equal(t, want, got)
		if !ok {
			break
		}
		require.Equal(t, account, accountOf(restored, want))
		used, err := saved.Usage(account)
		require.NoError(t, err)
		again, err := restored.Usage(account)
		require.NoError(t, err)
		require.Equal(t, used, again)
	}
	successors := make([]*omega.Scheduler, len(schedulers))
	for i, s := range schedulers {
		next, err := restored.Replace(s.Name())
		require.NoError(t, err)
		require.Equal(t, s.Epoch()+1, next.Epoch())
		require.Equal(t, s.Usage(), next.Usage())
		require.Equal(t, slices.Collect(s.Marked()), slices.Collect(next.Marked()))
		successors[i] = next
	}
	return successors
}

func preempt(tb testing.TB, cell *omega.Cell, s *omega.Scheduler, m omega.MachineID, need int64) {
	tb.Helper()
	tx := omega.Txn{Now: time.Unix(1, 0), Grace: omega.AtOnce}
	c := claim(m, need)
	c.Precedence = 150
	c.Victims, _ = cell.Victims(m, c.Need, c.Precedence)
	require.NotEmpty(tb, c.Victims)
	tx.Claim(c)
	granted, err := s.Commit(&tx)
	require.NoError(tb, err)
	require.Equal(tb, 1, granted)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// limitedWriter takes n bytes, and then fails.
type limitedWriter struct {
	n   int
	err error
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if len(b) <= w.n {
		w.n -= len(b)
		return len(b), nil
	}
	return w.n, w.err
}
