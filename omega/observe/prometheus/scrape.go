package prometheus

import (
	"strings"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/cellsched/cellsched/omega/observe"
)

// scrape is one call of Collect. It gathers the series before they are sent: names that are
// shown by one text share their series.
type scrape struct {
	cfg    *Config
	by     *Collector
	series []series
	at     map[key]int
}

// key identifies a series: no two have the same one.
type key struct {
	desc   *prom.Desc
	labels string // separated by a byte that no valid UTF-8 has
}

// series is a number, or a histogram.
type series struct {
	of     metric
	labels []string
	value  float64
	times  *observe.Histogram
}

// find returns the series of some labels. Prometheus takes no invalid UTF-8.
func (s *scrape) find(m metric, labels []string) *series {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
	}
	k := key{m.desc, strings.Join(labels, "\xff")}
	i, found := s.at[k]
	if !found {
		i = len(s.series)
		s.at[k] = i
		s.series = append(s.series, series{of: m, labels: labels})
	}
	return &s.series[i]
}

// send adds a value to a series.
func (s *scrape) send(m metric, value float64, labels ...string) {
	s.find(m, labels).value += value
}

// counted adds a value to a series, unless no engine has counted it.
func (s *scrape) counted(counts bool, m metric, value float64, labels ...string) {
	if counts || value != 0 {
		s.send(m, value, labels...)
	}
}

// times adds a histogram to a series, unless it is empty.
func (s *scrape) times(m metric, h *observe.Histogram, labels ...string) {
	if h.Count() == 0 {
		return
	}
	in := s.find(m, labels)
	if in.times == nil {
		in.times = &observe.Histogram{}
	}
	in.times.Merge(h)
}

// metric returns a series as it is sent. Of a histogram every second bound is left out.
func (s *series) metric() prom.Metric {
	if s.times == nil {
		return prom.MustNewConstMetric(s.of.desc, s.of.kind, s.value, s.labels...)
	}
	below, buckets := uint64(0), make(map[float64]uint64, len(s.times.Buckets)/2)
	for i, in := range s.times.Buckets[:len(s.times.Buckets)-1] {
		below += in
		if i%2 == 0 {
			buckets[s.times.Bound(i).Seconds()] = below
		}
	}
	return prom.MustNewConstHistogram(s.of.desc, s.times.Count(), s.times.Sum.Seconds(), buckets, s.labels...)
}
