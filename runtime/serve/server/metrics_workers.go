package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Limits on the time and the bytes of a worker's metrics.
const (
	metricsTime  = 2 * time.Second
	metricsBytes = 8 << 20
)

// serveMetrics serves GET /metrics of a router: its own metrics, and those of the loaded models, labelled
// with their names. A worker that does not answer is left out.
func (s *router) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	all := prometheus.Gatherers{s.metrics.registry}
	for name, address := range s.fleet.Loaded() {
		families, err := s.workerMetrics(r.Context(), name, address)
		if err != nil {
			s.cfg.Log.Warn("metrics of a worker", "model", name, "error", err)
			continue
		}
		all = append(all, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, nil }))
	}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}

// workerMetrics returns the metrics of a worker, labelled with the name of its model.
func (s *router) workerMetrics(ctx context.Context, name, address string) ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	if out.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", out.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(out.Body, metricsBytes))
	if err != nil {
		return nil, err
	}
	// The router counts HTTP requests itself, as each passes through it.
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return strings.HasPrefix(name, "mla_http_") })
	label := "model"
	for _, f := range families {
		for _, m := range f.Metric {
			m.Label = append(m.Label, &dto.LabelPair{Name: &label, Value: &name})
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
		}
	}
	return slices.Collect(maps.Values(families)), nil
}
