package view

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cellsched/cellsched/omega/observe"
)

// keptDecisions is how many decisions a new viewer sees, and how many may come between
// two frames.
const keptDecisions = 128

// decision is a refusal or a preemption as it is shown.
type decision struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`
	Source  string    `json:"source"`
	Tenant  string    `json:"tenant,omitempty"`
	Label   string    `json:"label,omitempty"`
	Machine string    `json:"machine,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// hear takes over the events since the last frame. Called with mu held.
func (s *source) hear() {
	var fresh []decision
	for _, sub := range s.subs {
		for range keptDecisions {
			select {
			case e := <-sub.Events():
				fresh = append(fresh, s.decide(&e))
				continue
			default:
			}
			break
		}
	}
	if len(fresh) == 0 {
		return
	}
	slices.SortStableFunc(fresh, func(a, b decision) int { return a.At.Compare(b.At) })
	s.add(fresh)
}

// add adds decisions behind those so far. Called with mu held.
func (s *source) add(fresh []decision) {
	s.told += uint64(len(fresh))
	all := append(slices.Clip(s.recent), fresh...) // frames have the old ones
	s.recent = all[max(len(all)-keptDecisions, 0):]
}

// decide returns an event as it is shown.
func (s *source) decide(e *observe.Event) decision {
	d := decision{
		At: e.At, Kind: e.Kind.String(), Source: e.Source,
		Tenant:  show(s.cfg.Filter, "tenant", e.Tenant),
		Label:   show(s.cfg.Filter, "label", e.Label),
		Machine: show(s.cfg.Filter, "machine", e.Machine),
	}
	if e.Err != nil {
		d.Reason = show(s.cfg.Filter, "reason", e.Err.Error())
	}
	return d
}

// show returns the text to show for a name: passed through the filter, and cut to the
// length that fits on a page. An empty name stays empty.
func show(filter func(kind, text string) string, kind, text string) string {
	if text == "" {
		return ""
	}
	if filter != nil {
		text = filter(kind, text)
	}
	most := maxText
	if kind == "reason" {
		most = maxReason
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
