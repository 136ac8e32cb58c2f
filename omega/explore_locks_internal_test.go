//go:build explore

package omega

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cellsched/cellsched/omega/internal/explore"
	"github.com/cellsched/cellsched/resources"
)

// Accounts that are named at the same time get numbers of their own, and one name gets
// one number.
func TestExplore_AccountAgainstAccount(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		names := []string{"a", "b", "a"}
		got := make([]Account, len(names))
		for i, name := range names {
			r.Go(fmt.Sprint(i), func() { got[i] = must(st.cell.Account(t.Context(), name)) })
		}
		r.Check(func() error {
			for i, name := range names {
				if was, ok := st.cell.AccountName(got[i]); !ok || was != name {
					return fmt.Errorf("account %d is %q, want %q", got[i], was, name)
				}
			}
			if got[0] != got[2] || got[0] == got[1] {
				return fmt.Errorf("accounts %v of %v", got, names)
			}
			return st.sound(0)
		})
	})
}

// chargedTo returns a transaction that claims one unit on the first machine for an
// account.
func chargedTo(account Account) *Txn {
	tx := &Txn{}
	tx.Claim(Claim{Machine: explored(0), Account: account, Need: resources.Vector{1}})
	return tx
}

// First claims for an account by several schedulers are all charged to it, also
// while another scheduler that was charged leaves.
func TestExplore_FirstClaimsForAnAccount(t *testing.T) {
	exploreAll(t, 2, func(r *explore.Run) {
		st := newStage(r, 2)
		account := must(st.cell.Account(t.Context(), "a"))
		gone := st.register("gone")
		a, _ := grantOf(gone, chargedTo(account))
		must(0, gone.Release(a))
		first, second := st.register("first"), st.register("second")
		r.Go("first", func() { grantOf(first, chargedTo(account)) })
		r.Go("second", func() { grantOf(second, chargedTo(account)) })
		r.Go("leave", func() { must(0, gone.Leave()) })
		r.Check(func() error {
			if used := must(st.cell.Usage(account)); used[0] != 2 {
				return fmt.Errorf("usage is %v, 2 are held", used)
			}
			if n := len(st.cell.ledger(account).all()); n != 2 {
				return fmt.Errorf("%d are charged to the account, want 2", n)
			}
			return st.sound(2)
		})
	})
}

// A scheduler does not leave while a commit of its own is in progress.
func TestExplore_LeaveAgainstCommit(t *testing.T) {
	exploreAll(t, 3, func(r *explore.Run) {
		st := newStage(r, 1)
		s := st.register("s")
		granted := false
		r.Go("commit", func() {
			tx := one(0)
			n, err := s.Commit(tx)
			if granted = n == 1; err != nil && !errors.Is(err, ErrLeft) && !errors.Is(err, ErrBusy) {
				panic(err)
			}
		})
		var left error
		r.Go("leave", func() { left = s.Leave() })
		r.Check(func() error {
			live := 0
			switch {
			case granted && left == nil:
				return errors.New("it has left and holds an allocation")
			case left != nil && !errors.Is(left, ErrBusy) && !errors.Is(left, ErrHolding):
				return left
			case granted:
				live = 1
			}
			return st.sound(live)
		})
	})
}

// A predecessor's commit makes a first claim for an account. The claim is charged to the
// account once, with its successor's, and not at all once the successor has left.
func TestExplore_FirstClaimOfAPredecessor(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		exploreAll(t, 3, func(r *explore.Run) {
			st := newStage(r, 2)
			account := must(st.cell.Account(t.Context(), "a"))
			old := st.register("s")
			granted := 0
			r.Go("old", func() {
				n, err := old.Commit(chargedTo(account))
				if granted += n; err != nil && !errors.Is(err, ErrSuperseded) && !errors.Is(err, ErrLeft) {
					panic(err)
				}
			})
			most := 1
			r.Go("successor", func() {
				heir := must(st.cell.Replace("s"))
				if !leaves {
					granted += must(heir.Commit(chargedTo(account)))
				} else if err := heir.Leave(); err == nil {
					most = 0
				}
			})
			r.Check(func() error {
				if n := len(st.cell.ledger(account).all()); n > most {
					return fmt.Errorf("%d are charged to the account, want %d at most", n, most)
				}
				return st.sound(granted)
			})
		})
	}
}
