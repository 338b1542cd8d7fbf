package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
)

// serviceMetrics is the metrics of a service, read when Prometheus asks.
type serviceMetrics struct{ service *completion.Service }

// stat is one metric of a service. Counters restart when the model is loaded again.
type stat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*completion.Stats) float64
}

func newStat(name, help string, kind prometheus.ValueType, labels prometheus.Labels, value func(*completion.Stats) float64) stat {
	return stat{prometheus.NewDesc("mla_"+name, help, nil, labels), kind, value}
}

func gauge(name, help string, value func(*completion.Stats) int) stat {
	return newStat(name, help, prometheus.GaugeValue, nil, func(s *completion.Stats) float64 { return float64(value(s)) })
}

func pages(state string, value func(*completion.Stats) int) stat {
	return newStat("pages", "Pages of the latent cache.", prometheus.GaugeValue, prometheus.Labels{"state": state}, func(s *completion.Stats) float64 { return float64(value(s)) })
}

func count(name, help string, labels prometheus.Labels, value func(*completion.Stats) float64) stat {
	return newStat(name, help, prometheus.CounterValue, labels, value)
}

var stats = []stat{
	gauge("up", "Whether the model can run requests.", func(s *completion.Stats) int {
		if s.State == completion.Ready {
			return 1
		}
		return 0
	}),
	gauge("sessions", "Requests that can run at a time.", func(s *completion.Stats) int { return s.Sessions }),
	gauge("requests_running", "Requests that run.", func(s *completion.Stats) int { return s.Scheduler.Active }),
	gauge("requests_waiting", "Requests that wait for a session.", func(s *completion.Stats) int { return s.Scheduler.Waiting }),
	count("device_failures_total", "Failures of the device.", nil, func(s *completion.Stats) float64 { return float64(s.Failures) }),
	pages("used", func(s *completion.Stats) int { return s.Pages.InUse }),
	pages("cached", func(s *completion.Stats) int { return s.Pages.Cached }),
	pages("free", func(s *completion.Stats) int { return s.Pages.Free }),
	count("page_tokens_total", "Tokens of prompts that were looked for in the pages.", prometheus.Labels{"found": "yes"}, func(s *completion.Stats) float64 { return float64(s.Pages.Hits) }),
	count("page_tokens_total", "Tokens of prompts that were looked for in the pages.", prometheus.Labels{"found": "no"}, func(s *completion.Stats) float64 { return float64(s.Pages.Misses) }),
	count("pages_evicted_total", "Cached pages that were given up for others.", nil, func(s *completion.Stats) float64 { return float64(s.Pages.Evicted) }),
	count("rows_total", "Rows that were run.", prometheus.Labels{"of": "prompt"}, func(s *completion.Stats) float64 { return float64(s.Scheduler.Steps.Prompt) }),
	count("rows_total", "Rows that were run.", prometheus.Labels{"of": "decode"}, func(s *completion.Stats) float64 { return float64(s.Scheduler.Steps.Decode) }),
	count("step_seconds_total", "Time in which the model ran.", nil, func(s *completion.Stats) float64 { return s.Scheduler.Steps.Busy.Seconds() }),
}

// stepRows are the sizes of batches.
var stepRows = prometheus.NewDesc("mla_step_rows", "Rows that were run in one batch.", nil, nil)

// Describe implements prometheus.Collector.
func (m serviceMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, s := range stats {
		out <- s.desc
	}
	out <- stepRows
}

// Collect implements prometheus.Collector.
func (m serviceMetrics) Collect(out chan<- prometheus.Metric) {
	now := m.service.Stats()
	for _, s := range stats {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(&now))
	}
	steps := &now.Scheduler.Steps
	buckets, total := map[float64]uint64{}, uint64(0)
	for i, n := range steps.Rows {
		total += n
		buckets[float64(scheduler.MostRows(i))] = total
	}
	out <- prometheus.MustNewConstHistogram(stepRows, total, float64(steps.Prompt+steps.Decode), buckets)
}
