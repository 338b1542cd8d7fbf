package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mla/runtime/engine"
)

// metrics is the Prometheus metrics of requests; serviceMetrics has those of the model.
type metrics struct {
	handler  http.Handler
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	// Metrics of answers; a router has none.
	prompt, cached, generated, drafted, accepted prometheus.Counter
	queue, first, between, promptRate, rate      prometheus.Histogram
	llama                                        *llamaMetrics // nil for a router
}

// Bucket bounds: in seconds, from the time of a token to that of a long answer, and in tokens per second.
var (
	seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	rates   = []float64{1, 2.5, 5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 500, 1000, 2500, 5000, 10000}
)

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.requests = register(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mla_http_requests_total", Help: "Requests by endpoint and status."}, []string{"endpoint", "status"}))
	m.seconds = register(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mla_http_request_seconds", Help: "Time from a request's header to the end of its answer.", Buckets: seconds}, []string{"endpoint"}))
	m.errors = register(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mla_errors_total", Help: "Requests that failed, by reason; queue_full are those refused as too many were waiting."}, []string{"code"}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// ofAnswers adds the metrics of answers.
func (m *metrics) ofAnswers() {
	for _, c := range []struct {
		at         *prometheus.Counter
		name, help string
	}{
		{&m.prompt, "prompt_tokens_total", "Tokens of prompts, those found in the caches included."},
		{&m.cached, "cached_tokens_total", "Tokens of prompts that were found in the caches."},
		{&m.generated, "generated_tokens_total", "Tokens of answers."},
		{&m.drafted, "drafted_tokens_total", "Tokens that were drafted."},
		{&m.accepted, "accepted_tokens_total", "Guessed tokens that became the text's."},
	} {
		*c.at = register(m, prometheus.NewCounter(prometheus.CounterOpts{Name: "mla_" + c.name, Help: c.help}))
	}
	for _, h := range []struct {
		at         *prometheus.Histogram
		name, help string
		buckets    []float64
	}{
		{&m.queue, "queue_seconds", "Time that an answer's request has waited for a session.", seconds},
		{&m.first, "first_token_seconds", "Time from a request to its first token, waiting for a session included.", seconds},
		{&m.between, "token_seconds", "Time between two tokens of an answer.", seconds},
		{&m.promptRate, "prompt_tokens_per_second", "Speed of an answer's prompt, but for what was found in the caches.", rates},
		{&m.rate, "decode_tokens_per_second", "Speed of an answer.", rates},
	} {
		*h.at = register(m, prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mla_" + h.name, Help: h.help, Buckets: h.buckets}))
	}
}

// register adds a metric.
func register[C prometheus.Collector](m *metrics, c C) C {
	m.registry.MustRegister(c)
	return c
}

// serve serves GET /metrics.
func (m *metrics) serve(w http.ResponseWriter, r *http.Request) error {
	m.handler.ServeHTTP(w, r)
	return nil
}

// request counts a request.
func (m *metrics) request(n *note, status int, took time.Duration) {
	endpoint := n.endpoint
	set(&endpoint, "none")
	m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(endpoint).Observe(took.Seconds())
	if n.failed != nil {
		m.errors.WithLabelValues(n.failed.code()).Inc()
	}
}

// ended counts a choice.
func (m *metrics) ended(e *ending) {
	m.llama.ended(e)
	r := &e.result
	m.prompt.Add(float64(e.prompt))
	m.cached.Add(float64(min(r.Reused, e.prompt)))
	m.generated.Add(float64(len(r.Tokens)))
	m.drafted.Add(float64(r.Drafted))
	m.accepted.Add(float64(r.Accepted))
	if r.FirstToken > 0 {
		m.first.Observe(r.FirstToken.Seconds())
		m.queue.Observe(queued(r).Seconds())
	}
	for _, t := range []struct {
		timing *engine.Timing
		to     prometheus.Histogram
	}{{&r.Prompt, m.promptRate}, {&r.Decode, m.rate}} {
		if rate := t.timing.PerSecond(); rate > 0 {
			t.to.Observe(rate)
		}
	}
}

// queued is how long a request that got a token waited before its prompt was run.
func queued(r *engine.Result) time.Duration { return max(0, r.FirstToken-r.Prompt.Elapsed) }
