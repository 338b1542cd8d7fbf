package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"mla/runtime/serve/completion"
)

// llamaMetrics is metrics under llama-server's names, for existing dashboards and autoscalers.
type llamaMetrics struct {
	service *completion.Service

	mu                      sync.Mutex
	prompt, predicted       float64 // tokens that were run
	promptTime, predictTime float64 // seconds
	longest                 int     // longest prompt with its answer, in tokens
}

// ended counts a choice.
func (m *llamaMetrics) ended(e *ending) {
	if m == nil { // a router has none
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prompt += float64(e.result.Prompt.Tokens)
	m.promptTime += e.result.Prompt.Elapsed.Seconds()
	m.predicted += float64(len(e.result.Tokens))
	m.predictTime += e.result.Decode.Elapsed.Seconds()
	m.longest = max(m.longest, e.prompt+len(e.result.Tokens))
}

// llamaStat is one of the metrics.
type llamaStat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*llamaMetrics, *completion.Stats) float64
}

func llama(name, help string, kind prometheus.ValueType, value func(*llamaMetrics, *completion.Stats) float64) llamaStat {
	return llamaStat{prometheus.NewDesc("llamacpp:"+name, help, nil, nil), kind, value}
}

// rate is part / whole; 0 if whole is 0.
func rate(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// decodes is the number of steps in which the model ran.
func decodes(s *completion.Stats) (n float64) {
	for _, steps := range s.Scheduler.Steps.Rows {
		n += float64(steps)
	}
	return n
}

var llamaStats = []llamaStat{
	llama("prompt_tokens_total", "Tokens of prompts that were run.", prometheus.CounterValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return m.prompt }),
	llama("prompt_seconds_total", "Time of prompts.", prometheus.CounterValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return m.promptTime }),
	llama("tokens_predicted_total", "Tokens of answers.", prometheus.CounterValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return m.predicted }),
	llama("tokens_predicted_seconds_total", "Time of answers.", prometheus.CounterValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return m.predictTime }),
	llama("n_decode_total", "Steps in which the model ran.", prometheus.CounterValue, func(_ *llamaMetrics, s *completion.Stats) float64 { return decodes(s) }),
	llama("n_tokens_max", "Tokens of the longest prompt with its answer.", prometheus.CounterValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return float64(m.longest) }),
	llama("n_busy_slots_per_decode", "Rows of a step, in the mean.", prometheus.GaugeValue, func(_ *llamaMetrics, s *completion.Stats) float64 {
		return rate(float64(s.Scheduler.Steps.Prompt+s.Scheduler.Steps.Decode), decodes(s))
	}),
	llama("prompt_tokens_seconds", "Tokens of prompts per second.", prometheus.GaugeValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return rate(m.prompt, m.promptTime) }),
	llama("predicted_tokens_seconds", "Tokens of answers per second.", prometheus.GaugeValue, func(m *llamaMetrics, _ *completion.Stats) float64 { return rate(m.predicted, m.predictTime) }),
	llama("requests_processing", "Requests that run.", prometheus.GaugeValue, func(_ *llamaMetrics, s *completion.Stats) float64 { return float64(s.Scheduler.Active) }),
	llama("requests_deferred", "Requests that wait.", prometheus.GaugeValue, func(_ *llamaMetrics, s *completion.Stats) float64 { return float64(s.Scheduler.Waiting) }),
}

// Describe implements prometheus.Collector.
func (m *llamaMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, s := range llamaStats {
		out <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (m *llamaMetrics) Collect(out chan<- prometheus.Metric) {
	now := m.service.Stats()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range llamaStats {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(m, &now))
	}
}
