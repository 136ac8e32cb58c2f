package live_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/offers"
	"github.com/cellsched/cellsched/offers/live"
	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// touchy is an order that panics, from when it is told on, in all calls but those
// that it is told to let pass.
type touchy struct{ in atomic.Int64 }

func (o *touchy) Rank(s offers.Standing) float64 {
	if o.in.Add(-1) == 0 {
		panic("order")
	}
	return offers.DRF{}.Rank(s)
}

// An order that panics in a step ends the run, with an error that says so, and all
// of its goroutines.
func TestRun_OrderThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := &touchy{}
		m, cell := newMaster(t, 2, offers.Config{Order: order, Timeout: offers.For(time.Minute)})
		var ended time.Time
		idle := live.Member{
			Registration: offers.Registration{Name: "idle"},
			Handle: func(ctx context.Context, _ *offers.Framework, _ offers.News) error {
				<-ctx.Done()
				ended = time.Now()
				return nil
			},
		}
		time.AfterFunc(90*time.Second, func() { order.in.Store(1) })
		time.AfterFunc(100*time.Second, func() { // something is to be asked about
			s, err := cell.Register("other", omega.Limits{})
			require.NoError(t, err)
			var tx omega.Txn
			for st := range cell.Machines() {
				tx.Claim(omega.Claim{Machine: st.ID, Account: accountOf(cell, "idle"), Need: resources.Vector{1}})
			}
			_, err = s.Commit(&tx)
			require.NoError(t, err)
		})
		err := live.Run(t.Context(), m, live.Config{Interval: time.Minute}, idle)
		var panicked *live.PanicError
		require.ErrorAs(t, err, &panicked)
		require.EqualError(t, panicked, "live: step: panic: order")
		require.Contains(t, string(panicked.Stack), "Rank")
		require.Equal(t, time.Now(), ended, "the goroutine has ended with the run")
		require.NoError(t, cell.Check())
	})
}

// An order that panics while a member registers keeps none of the others running,
// and one that panics in a call of a framework is that framework's affair.
func TestRun_OrderThatPanicsForAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for in := range int64(40) {
			order := &touchy{}
			m, cell := newMaster(t, 2, offers.Config{Order: order})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			one := func(name string) live.Member {
				return member(name, 1, func(*offers.Framework, []omega.AllocationID) {})
			}
			order.in.Store(in + 1)
			err := live.Run(ctx, m, live.Config{}, one("a"), one("b"))
			cancel()
			require.LessOrEqual(t, order.in.Load(), int64(0))
			var panicked *live.PanicError
			require.ErrorAs(t, err, &panicked)
			require.Contains(t, []string{"a", "b", ""}, panicked.Framework)
			require.NoError(t, cell.Check())
		}
	})
}

// A panic of Failed is found in the error of Run, and ends no member.
func TestRun_FailedThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMaster(t, 1, offers.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		boom, failed, called := errors.New("boom"), errors.New("failed"), 0
		err := live.Run(ctx, m, live.Config{Failed: func(string, error) { panic(failed) }}, live.Member{
			Registration: offers.Registration{Name: "bad"},
			Handle: func(context.Context, *offers.Framework, offers.News) error {
				called++
				return boom
			},
		})
		require.ErrorIs(t, err, boom)
		require.ErrorIs(t, err, failed)
		require.Greater(t, called, 1, "it is called again")
	})
}

// A member of which another caller has taken the framework over ends at once, also while
// it has nothing to do; the others go on.
func TestRun_MemberThatIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMaster(t, 2, offers.Config{Timeout: offers.Never()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		var ended time.Duration
		var who []string
		quiet := func(name string) live.Member {
			return live.Member{
				Registration: offers.Registration{Name: name},
				Handle: func(_ context.Context, f *offers.Framework, _ offers.News) error {
					return f.Suppress(time.Now())
				},
			}
		}
		time.AfterFunc(time.Minute, func() {
			_, err := m.Register(time.Now(), offers.Registration{Name: "a", Epoch: 1})
			require.NoError(t, err)
		})
		err := live.Run(ctx, m, live.Config{Interval: 10 * time.Minute, Failed: func(name string, err error) {
			require.ErrorIs(t, err, offers.ErrFenced)
			who, ended = append(who, name), time.Since(begin)
		}}, quiet("a"), quiet("b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, offers.ErrFenced)
		require.Equal(t, []string{"a"}, who)
		require.Equal(t, time.Minute, ended)
	})
}

// What a framework brings about between two steps happens when it is due, not with
// the next step.
func TestRun_WakesForEarlierDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMaster(t, 1, offers.Config{Timeout: offers.Never()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		var answered []time.Duration
		asker := live.Member{
			Registration: offers.Registration{Name: "asker"},
			Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
				for _, a := range news.Answers {
					require.ErrorIs(t, a.Reason, offers.ErrExpired)
					answered = append(answered, time.Since(begin))
				}
				if len(news.Offers) > 0 { // a goroutine of its own asks later
					for _, after := range []time.Duration{25 * time.Second, 31 * time.Second} {
						time.AfterFunc(after, func() {
							_, err := f.Request(time.Now(), offers.Request{
								Machines: 1, Each: resources.Vector{1}, Deadline: time.Now().Add(20 * time.Millisecond),
							})
							require.NoError(t, err)
						})
					}
				}
				return nil
			},
		}
		// Two runs of one master: whichever steps, both are woken.
		other := make(chan error)
		early, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		go func() {
			other <- live.Run(early, m, live.Config{Interval: 10 * time.Minute}, live.Member{
				Registration: offers.Registration{Name: "other", Minimum: resources.Vector{100}},
				Handle:       func(context.Context, *offers.Framework, offers.News) error { return nil },
			})
		}()
		err := live.Run(ctx, m, live.Config{Interval: 10 * time.Minute}, asker)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, <-other, context.DeadlineExceeded)
		require.Equal(t, []time.Duration{25*time.Second + 20*time.Millisecond, 31*time.Second + 20*time.Millisecond}, answered)
	})
}

// However often something becomes due sooner, a step is never later than the
// interval says.
func TestRun_StepsWithinTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, cell := newMaster(t, 1, offers.Config{Timeout: offers.Never()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		var seen time.Duration
		err := live.Run(ctx, m, live.Config{Interval: 10 * time.Second}, live.Member{
			Registration: offers.Registration{Name: "f", Minimum: resources.Vector{11}},
			Handle: func(_ context.Context, f *offers.Framework, news offers.News) error {
				if len(news.Offers) > 0 {
					seen = time.Since(begin)
					cancel()
				}
				return nil
			},
		}, live.Member{
			Registration: offers.Registration{Name: "asker"},
			Handle: func(ctx context.Context, f *offers.Framework, _ offers.News) error {
				time.Sleep(time.Millisecond) // the first step, at once, does not see what is added then
				_, err := cell.Add(omega.Machine{Name: "large", Capacity: resources.Vector{100}})
				require.NoError(t, err)
				for i := range 30 { // each before the one before it
					_, err := f.Request(time.Now(), offers.Request{
						Machines: 1, Each: resources.Vector{1}, Deadline: begin.Add(time.Hour - time.Duration(i)*time.Minute),
					})
					require.NoError(t, err)
					time.Sleep(time.Second)
				}
				return nil
			},
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 10*time.Second, seen)
	})
}

// Members that make no sense are found before any is registered: a framework that has
// tasks and is about to be taken over keeps them.
func TestRun_RegistersAllOrNone(t *testing.T) {
	for name, c := range map[string]struct {
		bad  live.Member
		want error
		says string
	}{
		"a bad name": {member("b/", 1, nil), offers.ErrConfig, `framework "b/"`},
		"no handle":  {live.Member{Registration: offers.Registration{Name: "b"}}, live.ErrMember, `framework "b" has no Handle`},
		"a notify": {func() live.Member {
			one := member("b", 1, nil)
			one.Registration.Notify = func() {}
			return one
		}(), live.ErrMember, `framework "b" has a Notify: want nil`},
		"too much guaranteed": {func() live.Member {
			one := member("b", 1, nil)
			one.Registration.Guaranteed = resources.Vector{11}
			return one
		}(), offers.ErrGuarantee, `framework "b"`},
		"twice": {member("a", 1, nil), offers.ErrConfig, `framework "a" is named twice`},
	} {
		t.Run(name, func(t *testing.T) {
			m, cell := newMaster(t, 1, offers.Config{})
			f, err := m.Register(time.Now(), offers.Registration{Name: "a"})
			require.NoError(t, err)
			news, err := f.News(time.Now())
			require.NoError(t, err)
			_, err = f.Accept(time.Now(), offers.Launch{
				Offers: []offers.OfferID{news.Offers[0].ID}, Tasks: []offers.Task{{Need: resources.Vector{1}}},
			})
			require.NoError(t, err)
			standby := member("a", 1, nil)
			standby.Registration.Epoch = 1
			err = live.Run(t.Context(), m, live.Config{}, standby, c.bad)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			_, err = f.News(time.Now())
			require.NoError(t, err, "it is not replaced")
			n := 0
			for range f.Tasks() {
				n++
			}
			require.Equal(t, 1, n)
			require.NoError(t, cell.Check())
		})
	}
}

// accountOf returns the account of a name that is valid.
func accountOf(cell *omega.Cell, name string) omega.Account {
	a, err := cell.Account(context.Background(), name)
	if err != nil {
		panic(err)
	}
	return a
}
