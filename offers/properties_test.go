package offers_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cellsched/cellsched/offers"
)

// The invariants hold after any actions in any order: nothing is lost or doubled.
// Everything is charged to the account that it belongs to. An offer is answered once and
// told once. No framework is offered room that it has refused or has no use for. What is
// guaranteed stays, and free room is offered to a framework that wants it. In the end
// nothing is left.
func TestMaster_BehavesLikeTheModel(t *testing.T) {
	for name, terms := range map[string]func(*rapid.T) offers.Terms{
		"kept offers":       func(*rapid.T) offers.Terms { return offers.Terms{} },
		"optimistic offers": func(*rapid.T) offers.Terms { return offers.Terms{Optimistic: true} },
		"mixed":             anyTerms,
		"guarantees": func(t *rapid.T) offers.Terms {
			return offers.Terms{Percent: rapid.SampledFrom([]int{0, 50}).Draw(t, "of each")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := newModel(t, name == "guarantees", terms)
				actions := m.actions()
				switch name {
				case "mixed":
					actions["terms"] = m.doTerms
				case "guarantees":
					for _, name := range []string{
						"sleep", "wake", "suppress", "revive", "weight", "vacate", "reply", "change", "describe", "decline", "accept bad",
					} {
						delete(actions, name)
					}
					actions["revoke"], actions["revoke more"], actions["fill"] = m.doRevoke, m.doRevoke, m.fill
				}
				t.Repeat(actions)
				t.Repeat(actions)
				m.finish(t)
			})
		})
	}
}

// actions returns all actions of the model, by name.
func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"register":    m.doRegister,
		"come back":   m.doComeBack,
		"take over":   m.doTakeOver,
		"disconnect":  m.doDisconnect,
		"unregister":  m.doUnregister,
		"sleep":       m.doSleep,
		"wake":        m.doWake,
		"suppress":    m.doSuppress,
		"revive":      m.doRevive,
		"accept":      m.doAccept,
		"accept more": m.doAccept,
		"accept bad":  m.doAcceptBad,
		"decline":     m.doDecline,
		"release":     m.doRelease,
		"request":     m.doRequest,
		"withdraw":    m.doWithdraw,
		"step":        m.doStep,
		"wait":        m.doWait,
		"vacate":      m.doVacate,
		"reply":       m.doReply,
		"weight":      m.doWeight,
		"fail over":   m.doFailOver,
		"claim":       m.doClaim,
		"preempt":     m.doPreempt,
		"give back":   m.doGiveBack,
		"add":         m.doAdd,
		"remove":      m.doRemove,
		"change":      m.doChange,
		"describe":    m.doDescribe,
		"drain":       m.doDrain,
		"":            func(t *rapid.T) { m.read(t); m.check(t); m.again(t) },
	}
}
