package prometheus_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cellsched/cellsched/omega/observe"
	"github.com/cellsched/cellsched/omega/observe/prometheus"
	"github.com/cellsched/cellsched/omega/pool"
)

// Each series that the dashboard asks for is one that the collector exports, with the labels
// that it is asked by.
func TestDashboard_AsksForSeriesThatThereAre(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	require.NotEmpty(t, board.Panels)

	counts := observe.Counts{Offers: 1}
	counts.Refuse("conflict", 1)
	counts.Waited.Add(1)
	counts.Placed.Add(1)
	registry := prom.NewPedanticRegistry()
	registry.MustRegister(prometheus.New(prometheus.Config{
		Cell: newCell(t), Pools: map[string]*pool.Pool{"p": newPool(t, 1)},
		Sources: map[string]func() observe.Counts{"loop/a": func() observe.Counts { return counts }},
	}))
	families, err := registry.Gather()
	require.NoError(t, err)
	labels := map[string]string{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[f.GetName()] += l.GetName() + " "
			}
		}
	}
	label := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			names := regexp.MustCompile(`cellsched_\w+`).FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, p.Title)
			for _, name := range names {
				name = strings.TrimSuffix(name, "_bucket")
				require.Contains(t, labels, name, p.Title)
				for _, l := range label.FindAllStringSubmatch(target.LegendFormat, -1) {
					require.Contains(t, labels[name], l[1], p.Title)
				}
			}
		}
	}
}
