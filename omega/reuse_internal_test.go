package omega

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/resources"
)

// Schedulers whose gangs overlap, lone claims and readers: a version that was read stays
// as it was, on all machines, though the schedulers use their versions again. The race
// detector finds a read of a version that is written anew.
func TestGang_WritesNoVersionThatOthersRead(t *testing.T) {
	const machines, capacity = 5, 1 << 20
	rounds := 4000
	if testing.Short() {
		rounds /= 10
	}
	cell, err := NewCell(Config{})
	require.NoError(t, err)
	for i := range machines {
		_, err = cell.Add(Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{capacity}})
		require.NoError(t, err)
	}
	type reading struct {
		v     *version
		seq   uint64
		free  int64
		count int
	}
	read := func(node int) reading {
		v := load(cell.words.at(uint32(node)))
		return reading{v, v.seq, v.free()[0], v.live.count()}
	}
	var wg, readers sync.WaitGroup
	over := make(chan struct{})
	wrong := make(chan error, 1<<16)
	for by := range 3 {
		s, err := cell.Register(fmt.Sprint("gangs-", by), Limits{})
		require.NoError(t, err)
		s.Snapshot()
		wg.Go(func() {
			var tx, back Txn
			for i := range rounds {
				tx.Reset()
				tx.Gang = by < 2 // the third one claims machine by machine
				for n := range 3 {
					tx.Claim(Claim{Machine: cell.machine(uint32((i+by+n)%machines), 0), Need: resources.Vector{1}})
				}
				if granted, err := s.Commit(&tx); err != nil || granted != 3 {
					wrong <- fmt.Errorf("%d granted: %w", granted, err)
					return
				}
				back.Reset()
				back.Gang = i%2 == 0
				for n := range 3 {
					a, _ := tx.Allocation(n)
					back.Release(a)
				}
				if _, err := s.Commit(&back); err != nil {
					wrong <- err
					return
				}
			}
		})
	}
	readers.Go(func() { // cuts and saves meanwhile
		for {
			for m, allocations := range cell.Cut().Machines() {
				if m.Free[0]+int64(len(allocations)) != capacity {
					wrong <- fmt.Errorf("%d free beside %d allocations in a cut", m.Free[0], len(allocations))
				}
			}
			var file bytes.Buffer
			if err := cell.Save(&file); err != nil {
				wrong <- err
			} else if again, err := Restore(&file, nil); err != nil {
				wrong <- err
			} else if err = again.Check(); err != nil {
				wrong <- err
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	for first := range 2 {
		readers.Go(func() {
			var last [256]reading
			for i := 0; ; i++ {
				now := read((i + first) % machines)
				if now.free+int64(now.count) != capacity {
					wrong <- fmt.Errorf("%d free beside %d allocations", now.free, now.count)
					return
				}
				at := &last[i%len(last)]
				if v := at.v; v != nil && (v.seq != at.seq || v.free()[0] != at.free || v.live.count() != at.count) {
					wrong <- fmt.Errorf("version %d became %d", at.seq, v.seq)
					return
				}
				*at = now
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
	close(over)
	readers.Wait()
	close(wrong)
	for err := range wrong {
		require.NoError(t, err)
	}
	for node := range machines {
		require.EqualValues(t, capacity, read(node).free)
	}
	require.NoError(t, cell.Check())
}

// content is the part of a version that its reader reads.
type content struct {
	seq    uint64
	claims uint32
	free   resources.Vector
	live   []uint32
}

func contentOf(v *version) content {
	return content{v.seq, v.claims, v.free(), slices.Collect(v.live.all())}
}

// reused is a cell of a few machines, and a scheduler that has made the versions in its
// words and has spare ones.
func reused(t *testing.T, machines int) (*Cell, *Scheduler) {
	t.Helper()
	cell, err := NewCell(Config{})
	require.NoError(t, err)
	for i := range machines {
		_, err = cell.Add(Machine{Name: fmt.Sprint(i), Capacity: resources.Vector{1 << 30}})
		require.NoError(t, err)
	}
	s, err := cell.Register("s", Limits{})
	require.NoError(t, err)
	s.Snapshot()
	comeAndGo(t, s, machines, 2)
	return cell, s
}

// comeAndGo claims and releases on all machines: by lone commits, several claims at once,
// and gangs.
func comeAndGo(t *testing.T, s *Scheduler, machines, times int) {
	t.Helper()
	var tx, back Txn
	for i := range times {
		for _, width := range []int{1, machines} {
			tx.Reset()
			tx.Gang = i%2 == 0
			for node := range uint32(width) {
				tx.Claim(Claim{Machine: s.cell.machine(node, 0), Need: resources.Vector{1}})
			}
			granted, err := s.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, width, granted)
			back.Reset()
			back.Gang = i%4 < 2
			for n := range width {
				a, _ := tx.Allocation(n)
				back.Release(a)
			}
			_, err = s.Commit(&back)
			require.NoError(t, err)
		}
	}
}

// A snapshot of another scheduler, and a version that a reader has in its hands, show what
// they showed, however long they are kept. Their versions are all that is not used again.
func TestReuse_LeavesASnapshotThatIsKeptForEver(t *testing.T) {
	const machines = 5
	cell, s := reused(t, machines)
	other, err := cell.Register("other", Limits{})
	require.NoError(t, err)
	comeAndGo(t, s, machines, 3)
	tx := Txn{Gang: true}
	for node := range uint32(machines) {
		tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{7}})
	}
	_, err = s.Commit(&tx)
	require.NoError(t, err)
	snap := other.Snapshot()
	var before []MachineState
	for m := range snap.Machines() {
		before = append(before, m)
	}
	held := load(cell.words.at(2))
	was := contentOf(held)
	comeAndGo(t, s, machines, 1000)
	var after []MachineState
	for m := range snap.Machines() {
		after = append(after, m)
	}
	require.Equal(t, before, after)
	require.EqualValues(t, 1<<30-7, after[0].Free[0])
	require.Equal(t, was, contentOf(held))
	require.LessOrEqual(t, testing.AllocsPerRun(20, func() { comeAndGo(t, s, machines, 4) }), 60.0, "versions are used again beside it")
	snap.Refresh(time.Time{})
	require.Zero(t, snap.Refresh(time.Time{}))
	require.NoError(t, cell.Check())
}

// A scheduler that dies after its swap, and before it uses again what that took out,
// leaves the versions to the collector. They stay as they were, and its successor goes on.
func TestReuse_OfASchedulerThatDiesBeforeIt(t *testing.T) {
	const machines = 4
	for name, compose := range map[string]func(tx *Txn, cell *Cell){
		"lone": func(tx *Txn, cell *Cell) {
			tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
		},
		"several": func(tx *Txn, cell *Cell) {
			for node := range uint32(machines) {
				tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
			}
		},
		"gang": func(tx *Txn, cell *Cell) {
			tx.Gang = true
			for node := range uint32(machines) {
				tx.Claim(Claim{Machine: cell.machine(node, 0), Need: resources.Vector{1}})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cell, s := reused(t, machines)
			comeAndGo(t, s, machines, 1)
			var tx Txn
			compose(&tx, cell)
			require.NoError(t, tx.check(s))
			s.note(&tx)
			require.Equal(t, len(tx.items), s.apply(&tx)) // and dies: show is not called
			type left struct {
				v   *version
				was content
			}
			var all []left
			for _, at := range tx.sights {
				require.NotNil(t, at.out)
				require.Same(t, at.old, &at.out.V)
				all = append(all, left{at.old, contentOf(at.old)})
			}
			require.Len(t, all, len(tx.items))
			successor, err := cell.Replace("s")
			require.NoError(t, err)
			comeAndGo(t, successor, machines, 200)
			for i := range all {
				require.Equal(t, all[i].was, contentOf(all[i].v))
			}
			require.Equal(t, resources.Vector{int64(len(tx.items))}, successor.Usage(), "what was granted is the successor's")
			require.NoError(t, cell.Check())
		})
	}
}

// The number of grants of a machine and the cell's epoch come round at 2^32, the epoch of
// a version at 2^16. A claim that is granted there is a change to coarse detection, and
// cuts are what the cell is.
func TestReuse_WhereCountersComeRound(t *testing.T) {
	const machines = 3
	for _, epoch := range []uint32{math.MaxUint16 - 3, math.MaxUint32 - 3} {
		cell, s := reused(t, machines)
		other, err := cell.Register("other", Limits{Jobs: 9})
		require.NoError(t, err)
		for node := range uint32(machines) {
			cell.swap(node, func(_, next *version) bool {
				next.claims = math.MaxUint32 - 1
				return true
			})
		}
		cell.epoch.Store(epoch)
		for node := range uint32(machines) {
			cell.fence(node) // as a cut of that epoch has left it
		}
		snap := other.Snapshot()
		for i := range 4 {
			snap.Refresh(time.Time{})
			comeAndGo(t, s, machines, 1)
			require.NoError(t, other.BeginJob())
			tx := Txn{Detect: CoarseClaims}
			tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
			granted, err := other.Commit(&tx)
			require.NoError(t, err)
			require.Zero(t, granted, "a claim was granted since")
			require.ErrorIs(t, tx.Err(0), ErrConflict)

			snap.Refresh(time.Time{})
			tx.Reset()
			tx.Claim(Claim{Machine: cell.machine(0, 0), Need: resources.Vector{1}})
			granted, err = other.Commit(&tx)
			require.NoError(t, err)
			require.Equal(t, 1, granted)

			cut := cell.Cut()
			for m, allocations := range cut.Machines() {
				state, ok := cell.State(m.ID)
				require.True(t, ok)
				require.Equal(t, state.Free, m.Free)
				require.EqualValues(t, 1<<30, m.Free[0]+int64(len(allocations)))
			}
			for _, p := range cut.schedulers {
				if p.owner == other.owner {
					require.EqualValues(t, i+1, p.jobs)
				}
			}
			comeAndGo(t, s, machines, 2)
		}
		require.Less(t, load(cell.words.at(0)).claims, uint32(1000), "it came round")
		require.Less(t, uint16(cell.epoch.Load()), uint16(100), "it came round")
		require.NoError(t, cell.Check())
	}
}
