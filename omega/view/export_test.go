package view

import (
	"github.com/cellsched/cellsched/omega/pool"
	"github.com/cellsched/cellsched/resources"
)

// Due is due, for tests of the rule by itself.
func Due(tenants []pool.TenantStats, total resources.Vector) []float64 { return due(tenants, total) }

// AppendDiff is appendDiff.
func AppendDiff(to, before, now []byte, most int) ([]byte, bool) {
	return appendDiff(to, before, now, most)
}

// Bench makes frames without waiting between them, and returns one step: the next frame
// and what a viewer is sent for it.
func Bench(cfg Config, by string) (step func() []byte) {
	cfg.Viewers = 1
	s := newSource(cfg)
	if _, ok := s.enter(by == "owner"); !ok {
		return nil
	}
	v := viewer{by: by}
	var buf []byte
	return func() []byte {
		s.next = s.asked.AddDate(-1, 0, 0)
		buf = v.append(buf[:0], s.frame())
		return buf
	}
}
