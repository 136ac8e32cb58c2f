package omega_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/omega"
	"github.com/cellsched/cellsched/resources"
)

// commit sends a random transaction to the cell and to the reference, and compares
// what becomes of each item.
func (m *modelled) commit(t *rapid.T) {
	o := m.owner(t)
	tx := &refTxn{
		gang:   rapid.IntRange(0, 2).Draw(t, "gang") == 2,
		detect: omega.Detection(max(0, rapid.IntRange(-5, 2).Draw(t, "detection"))),
		now:    m.now,
		grace:  time.Duration(5-rapid.IntRange(0, 5).Draw(t, "less grace")) * time.Second,
	}
	sent := omega.Txn{Gang: tx.gang, Detect: tx.detect, Now: tx.now, Grace: tx.grace}
	if tx.grace == 0 {
		sent.Grace = omega.AtOnce
	}
	for range rapid.IntRange(1, 4).Draw(t, "units") {
		u := m.unit(t, o)
		switch {
		case u.isRelease():
			u.item = sent.Release(u.release)
		case u.resize:
			u.item = sent.Resize(u.from[0], u.claims[0].Need)
		case len(u.from) > 0:
			u.item = sent.Exchange(u.from, u.claims...)
		default:
			u.item = sent.Claim(u.claims[0])
		}
		tx.units = append(tx.units, u)
	}
	claims, victims := 0, 0
	for _, u := range tx.units {
		claims += len(u.claims)
		for _, c := range u.claims {
			victims += len(c.Victims)
		}
	}
	if victims == 0 && rapid.Bool().Draw(t, "no time") {
		sent.Now = time.Time{} // the time is for victims
	}
	granted, err := o.s.Commit(&sent)
	if o.limits.Gang > 0 && tx.gang && claims > o.limits.Gang {
		require.ErrorIs(t, err, omega.ErrLimit)
		return
	}
	require.NoError(t, err)
	m.ref.judge(o, tx)
	for _, u := range tx.units {
		for i := range max(1, len(u.claims)) {
			m.compare(t, &sent, u, u.item+i)
		}
		if u.err == nil {
			granted -= len(u.claims)
		}
	}
	require.Zero(t, granted)
	m.ref.apply(o, tx, func(item int) omega.AllocationID {
		id, ok := sent.Allocation(item)
		require.True(t, ok)
		require.NotContains(t, m.granted, id, "an ID twice")
		m.granted = append(m.granted, id)
		return id
	})
}

// compare compares the outcome of an item with that of the reference.
func (m *modelled) compare(t *rapid.T, sent *omega.Txn, u *refUnit, item int) {
	err := sent.Err(item)
	require.ErrorIs(t, err, u.err, "item %d", item)
	if u.err == nil {
		return
	}
	_, ok := sent.Allocation(item)
	require.False(t, ok)
	var why *omega.RefusalError
	require.ErrorAs(t, err, &why)
	require.Equal(t, u.isRelease(), why.Release)
	if !u.isRelease() {
		require.Equal(t, u.claims[item-u.item].Need, why.Need)
		require.Equal(t, u.changed, why.Changed)
	}
	if errors.Is(err, omega.ErrConflict) {
		require.Equal(t, u.free, why.Free)
		require.Equal(t, m.ref.nodes[u.node].Name, why.Name)
	}
}

// unit draws a claim, an exchange, a resize or a release.
func (m *modelled) unit(t *rapid.T, o *refOwner) *refUnit {
	from := slices.DeleteFunc(slices.Clone(m.granted), func(a omega.AllocationID) bool {
		held := m.ref.held[a]
		return held == nil || held.owner != o && held.grantee != o
	})
	if seldom(t) {
		from = m.granted
	}
	kind := "claim"
	if len(from) > 0 {
		kind = rapid.SampledFrom([]string{"claim", "claim", "claim", "resize", "resize", "exchange", "release"}).Draw(t, "kind")
	}
	oneOf := func() omega.AllocationID { return rapid.SampledFrom(from).Draw(t, "allocation") }
	switch kind {
	case "release":
		return &refUnit{release: oneOf()}
	case "resize":
		u := &refUnit{resize: true, from: []omega.AllocationID{oneOf()}}
		c := omega.Claim{Need: some(vector(t, 6, "need"))}
		if a := m.ref.held[u.from[0]]; a != nil {
			c.Need = c.Need.Max(a.Need)
			if rapid.Bool().Draw(t, "less") {
				c.Need = some(vector(t, 6, "need").Min(a.Need))
			}
			// It stays where it is, in the cell as it is now.
			c.Machine, c.Account, c.Precedence = m.ref.nodes[a.ID.Node()].id, a.Account, a.Precedence
			at, err := m.cell.ReadyAt(a.ID)
			require.NoError(t, err)
			u.runs = a.runsAt(m.now, at)
		}
		u.claims = []omega.Claim{c}
		return u
	case "exchange":
		first := oneOf()
		u := &refUnit{from: []omega.AllocationID{first}}
		if second := oneOf(); second.Node() == first.Node() {
			u.from = append(u.from, second)
		}
		id := m.ref.nodes[first.Node()].id
		if a := m.ref.held[first]; a != nil {
			id = a.Machine
		}
		for range rapid.IntRange(1, 2).Draw(t, "claims") {
			u.claims = append(u.claims, m.claim(t, o, id))
		}
		return u
	}
	return &refUnit{claims: []omega.Claim{m.claim(t, o, m.machine(t))}}
}

func (m *modelled) claim(t *rapid.T, o *refOwner, id omega.MachineID) omega.Claim {
	c := omega.Claim{
		Machine: id, Need: some(vector(t, 6, "need")), Account: rapid.SampledFrom(m.accounts).Draw(t, "account"),
		Precedence: omega.Precedence(rapid.IntRange(int(o.limits.Lowest), int(o.limits.Highest)).Draw(t, "precedence")),
	}
	if seldom(t) {
		c.Precedence = rapid.SampledFrom([]omega.Precedence{-2, 4}).Draw(t, "forbidden precedence")
	}
	special := rapid.SampledFrom([]string{"victims", "victims", "grantee", ""}).Draw(t, "special")
	if seldom(t) {
		special = "any victims"
	}
	switch special {
	case "grantee":
		c.Grantee = m.owner(t).s
	case "victims":
		c.Victims, _ = m.cell.Victims(id, c.Need, c.Precedence)
		if n := m.ref.nodes[id.Node()]; n.id == id && n.cond == omega.Ready {
			require.Equal(t, m.victims(int(id.Node()), c.Need, c.Precedence), c.Victims)
		} else {
			require.Nil(t, c.Victims)
		}
	case "any victims": // right or wrong
		for _, a := range m.granted {
			if a.Node() == id.Node() && len(c.Victims) < 2 && rapid.Bool().Draw(t, "victim") {
				c.Victims = append(c.Victims, a)
			}
		}
	}
	return c
}

// age is an ID as a number. Of two on one machine the older has the lower number. If
// they were granted in one step, that in the lower slot has it.
func age(a omega.AllocationID) int {
	var node, slot, change int
	if _, err := fmt.Sscanf(a.String(), "%d/%d/%d", &node, &slot, &change); err != nil {
		panic(err)
	}
	return change<<20 + slot
}

// victims are those that have to go: the lowest, then those granted last, and
// then all are spared that can be, those worth most first.
func (m *modelled) victims(node int, need resources.Vector, p omega.Precedence) (victims []omega.AllocationID) {
	room := m.ref.free(node, nil)
	live := m.ref.live(node)
	slices.SortFunc(live, func(a, b *refAllocation) int {
		return cmp.Or(
			cmp.Compare(a.Precedence, b.Precedence),
			cmp.Compare(age(b.ID), age(a.ID)),
		)
	})
	var chosen []*refAllocation
	for _, a := range live {
		if !need.Fits(room) && a.Precedence < p {
			chosen, room = append(chosen, a), room.Add(a.Need)
		}
	}
	if !need.Fits(room) {
		return nil
	}
	for _, a := range slices.Backward(chosen) {
		if without, ok := room.Sub(a.Need); ok && need.Fits(without) {
			room = without
		} else {
			victims = append(victims, a.ID)
		}
	}
	slices.Reverse(victims)
	return victims
}
