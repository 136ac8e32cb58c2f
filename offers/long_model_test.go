package offers_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// longModel is the model of long tasks: the tasks of each framework, and how much more it
// was told of.
type longModel struct {
	cell       *omega.Cell
	master     *offers.Master
	cfg        offers.Config
	all        []*longFramework
	serial     int  // of what has happened that may make an optimistic offer untrue
	shrunk     bool // a machine has gone: what was promised of it stands
	names      int
	optimistic bool
}

type longFramework struct {
	h      *offers.Framework
	reg    offers.Registration
	offers []longOffer
	tasks  []longTask
}

type longOffer struct {
	offers.Offer
	serial int // when it was read
}

type longTask struct {
	id      omega.AllocationID
	machine omega.MachineID
	long    resources.Vector
}

// most returns what long tasks may have, by a cap in per cent.
func most(total resources.Vector, percent int) resources.Vector {
	for k := range total {
		if total[k] = total[k] * int64(percent) / 100; percent == 0 {
			total[k] = 1000
		}
	}
	return total
}

// capacity returns that of a machine, and of the cell.
func (m *longModel) capacity(on omega.MachineID) (machine, cell resources.Vector) {
	for st := range m.cell.Machines() {
		cell = cell.Add(st.Capacity)
		if st.ID == on {
			machine = st.Capacity
		}
	}
	return machine, cell
}

// taken returns what long tasks have, or may have by an offer that is kept, or was
// shown to the framework.
func (m *longModel) taken(to *longFramework, on omega.MachineID) (machine, cell resources.Vector) {
	add := func(at omega.MachineID, v resources.Vector) {
		cell = cell.Add(v)
		if at == on {
			machine = machine.Add(v)
		}
	}
	for _, f := range m.all {
		for _, task := range f.tasks {
			add(task.machine, task.long)
		}
		for _, o := range f.offers {
			if !m.optimistic || f == to {
				add(o.Machine, o.Long)
			}
		}
	}
	return machine, cell
}

func (m *longModel) pick(t *rapid.T) *longFramework {
	return m.all[rapid.IntRange(0, len(m.all)-1).Draw(t, "framework")]
}

// read compares the offers with the rest of the caps.
func (m *longModel) read(t *rapid.T) {
	f := m.pick(t)
	news, err := f.h.News(start)
	require.NoError(t, err)
	for _, e := range news.Ended {
		f.offers = slices.DeleteFunc(f.offers, func(o longOffer) bool { return o.ID == e.Offer })
	}
	for _, mark := range news.Tasks {
		i := slices.IndexFunc(f.tasks, func(task longTask) bool { return task.id == mark.Allocation.ID })
		if i >= 0 { // else it has ended before it was told
			m.release(t, f, i)
		}
	}
	for _, o := range news.Offers {
		want := o.Room
		machine, cell := m.capacity(o.Machine)
		onMachine, inCell := m.taken(f, o.Machine)
		for k := range want {
			left := min(most(machine, m.cfg.LongOnMachine)[k]-onMachine[k], most(cell, m.cfg.LongInCell)[k]-inCell[k])
			want[k] = max(0, min(want[k], left))
		}
		if !m.shrunk {
			require.Equal(t, want, o.Long, "of %v on %v", o.Room, o.Machine)
		}
		f.offers = append(f.offers, longOffer{o, m.serial})
	}
}

// upTo draws an amount of no more than that.
func upTo(t *rapid.T, most resources.Vector) (v resources.Vector) {
	for k := range 2 {
		v[k] = rapid.Int64Range(0, most[k]).Draw(t, "amount")
	}
	return v
}

// accept starts tasks on some of the offers, on each machine together. Where the
// framework keeps to the Long of its offers, it must not be refused.
func (m *longModel) accept(t *rapid.T) {
	f := m.pick(t)
	keeps := rapid.Bool().Draw(t, "keeps to it")
	var named []longOffer
	for _, o := range f.offers {
		if rapid.Bool().Draw(t, "named") {
			named = append(named, o)
		}
	}
	var launches []offers.Launch
	var started []longTask
	var raced bool
	for rest := named; len(rest) > 0; {
		on := rest[0].Machine
		var room, long resources.Vector
		var l offers.Launch
		rest = slices.DeleteFunc(slices.Clone(rest), func(o longOffer) bool {
			if o.Machine != on {
				return false
			}
			room, long = room.Add(o.Room), long.Add(o.Long)
			l.Offers = append(l.Offers, o.ID)
			raced = raced || m.optimistic && o.serial != m.serial
			return true
		})
		if !keeps {
			long = room
		}
		long = upTo(t, long)
		free, _ := room.Sub(long)
		short := upTo(t, free)
		for _, task := range []offers.Task{{Need: long, Long: true}, {Need: short}} {
			if task.Need == (resources.Vector{}) {
				continue
			}
			l.Tasks = append(l.Tasks, task)
			if !task.Long {
				long = resources.Vector{}
			}
			started = append(started, longTask{machine: on, long: long})
		}
		if len(l.Tasks) > 0 {
			launches = append(launches, l)
		} else {
			named = slices.DeleteFunc(named, func(o longOffer) bool { return o.Machine == on })
		}
	}
	if len(launches) == 0 {
		t.Skip("it starts nothing")
	}
	ids, err := f.h.Accept(start, launches...)
	if err != nil {
		if keeps && (!m.optimistic || errors.Is(err, offers.ErrExceeds)) {
			require.True(t, raced, "%v", err)
		} else if !m.optimistic {
			require.ErrorIs(t, err, offers.ErrExceeds)
			return // and its offers stay
		}
		m.resync(t, f)
		return
	}
	f.offers = slices.DeleteFunc(f.offers, func(o longOffer) bool {
		return slices.ContainsFunc(named, func(n longOffer) bool { return n.ID == o.ID })
	})
	for i, id := range ids {
		started[i].id = id
	}
	f.tasks = append(f.tasks, started...)
	m.serial++
	for i := range f.offers {
		if keeps && f.offers[i].serial == m.serial-1 {
			f.offers[i].serial = m.serial // it is its own doing, and was told of
		}
	}
}

// resync has a framework told of everything again: its offers may have ended.
func (m *longModel) resync(t *rapid.T, f *longFramework) {
	var err error
	f.offers = nil
	f.reg.Epoch++
	f.h, err = m.master.Register(start, f.reg)
	require.NoError(t, err)
}

func (m *longModel) release(t *rapid.T, f *longFramework, i int) {
	require.NoError(t, f.h.Release(start, f.tasks[i].id))
	f.tasks = slices.Delete(f.tasks, i, i+1)
}

// check verifies the caps.
func (m *longModel) check(t *rapid.T) {
	require.NoError(t, m.cell.Check())
	if m.shrunk {
		return
	}
	for st := range m.cell.Machines() {
		machine, cell := m.capacity(st.ID)
		onMachine, inCell := m.taken(nil, st.ID)
		require.True(t, onMachine.Fits(most(machine, m.cfg.LongOnMachine)), "%v on %v", onMachine, st.ID)
		require.True(t, inCell.Fits(most(cell, m.cfg.LongInCell)), "%v in the cell", inCell)
	}
}

// A framework that keeps to the Long of its offers is never refused for a cap, whatever
// others do; and the offers show all that the caps leave.
func TestOffer_LongIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percent := rapid.SampledFrom([]int{0, 1, 30, 50, 77, 100})
		m := &longModel{optimistic: rapid.Bool().Draw(t, "optimistic")}
		m.cfg = offers.Config{
			LongOnMachine: percent.Draw(t, "of a machine"), LongInCell: percent.Draw(t, "of the cell"),
			Timeout: offers.Never(), Terms: offers.Terms{Optimistic: m.optimistic},
		}
		var err error
		m.cell, err = omega.NewCell(omega.Config{})
		require.NoError(t, err)
		add := func(t *rapid.T) {
			m.names++
			_, err := m.cell.Add(omega.Machine{Name: fmt.Sprint(m.names), Capacity: resources.Vector{
				rapid.Int64Range(1, 20).Draw(t, "cpu"), rapid.Int64Range(0, 20).Draw(t, "memory"),
			}})
			require.NoError(t, err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "machines") {
			add(t)
		}
		m.master, err = offers.New(m.cell, m.cfg, start)
		require.NoError(t, err)
		for i := range rapid.IntRange(1, 3).Draw(t, "frameworks") {
			f := &longFramework{reg: offers.Registration{
				Name: fmt.Sprint(i), Outstanding: rapid.SampledFrom([]float64{0, 1}).Draw(t, "outstanding"),
				Failover: offers.Never(),
			}}
			f.h, err = m.master.Register(start, f.reg)
			require.NoError(t, err)
			m.all = append(m.all, f)
		}
		t.Repeat(map[string]func(*rapid.T){
			"":       m.check,
			"read":   m.read,
			"read 2": m.read,
			"accept": m.accept,
			"try":    m.accept,
			"add": func(t *rapid.T) {
				add(t)
				require.NoError(t, m.master.Step(start))
				m.serial++
			},
			"remove": func(t *rapid.T) {
				on := slices.Collect(m.cell.Machines())
				_, err := m.cell.Remove(on[rapid.IntRange(0, len(on)-1).Draw(t, "machine")].ID)
				require.NoError(t, err)
				require.NoError(t, m.master.Step(start))
				m.shrunk = true
				m.serial++
				for _, f := range m.all {
					m.resync(t, f)
				}
				if len(on) == 1 {
					add(t)
					require.NoError(t, m.master.Step(start))
				}
			},
			"decline": func(t *rapid.T) {
				f := m.pick(t)
				if len(f.offers) == 0 {
					t.Skip("nothing")
				}
				i := rapid.IntRange(0, len(f.offers)-1).Draw(t, "offer")
				if err := f.h.Decline(start, offers.For(0), f.offers[i].ID); !m.optimistic {
					require.NoError(t, err)
				}
				f.offers = slices.Delete(f.offers, i, i+1)
			},
			"release": func(t *rapid.T) {
				f := m.pick(t)
				if len(f.tasks) == 0 {
					t.Skip("nothing")
				}
				m.release(t, f, rapid.IntRange(0, len(f.tasks)-1).Draw(t, "task"))
			},
			"take over": func(t *rapid.T) { m.resync(t, m.pick(t)) },
		})
		m.finish(t)
	})
}

// finish ends everything: then nothing is kept any more.
func (m *longModel) finish(t *rapid.T) {
	for _, f := range m.all {
		require.NoError(t, f.h.Unregister(start))
	}
	f, err := m.master.Register(start.Add(time.Hour), offers.Registration{Name: "last", Outstanding: 1})
	require.NoError(t, err)
	m.all, m.shrunk = []*longFramework{{h: f}}, false
	m.read(t)
	require.NotEmpty(t, m.all[0].offers)
}
