package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/server"
)

// scrape returns the metrics as Prometheus reads them.
func (s *served) scrape() map[string]*dto.MetricFamily {
	s.Helper()
	_, text := s.do("GET", "/metrics", "")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	return families
}

// some makes requests that give every metric a value.
func (s *served) some() {
	s.Helper()
	body := `{"messages": [{"role": "user", "content": "` + strings.Repeat("x", 200) + `Hello"}]}`
	for range 2 {
		s.do("POST", "/v1/chat/completions", body)
	}
	s.do("POST", "/v1/chat/completions", `{`)
	s.do("POST", "/v1/chat/completions", strings.Replace(body, "x", strings.Repeat("x", length), 1))
}

func TestMetrics(t *testing.T) {
	s := serve(t, nil, chats...)
	s.some()
	// An answer is there a little before the step that ended it is counted.
	var wrong []string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if wrong = unlike(s.scrape()); len(wrong) == 0 {
			return
		}
	}
	for _, line := range wrong {
		t.Error(line)
	}
}

// unlike returns the differences between metrics and those that some leaves.
func unlike(families map[string]*dto.MetricFamily) (wrong []string) {
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"mla_http_requests_total", "POST /v1/chat/completions 200", 2},
		{"mla_http_requests_total", "POST /v1/chat/completions 400", 2},
		{"mla_errors_total", "invalid_json", 1},
		{"mla_errors_total", "context_length_exceeded", 1},
		{"mla_prompt_tokens_total", "", 420},
		{"mla_cached_tokens_total", "", 192}, // whole pages
		{"mla_page_tokens_total", "yes", 192},
		{"mla_page_tokens_total", "no", 228},
		{"mla_rows_total", "prompt", 228},
		{"mla_rows_total", "decode", 66}, // all tokens, as after the last one the end is picked
		{"mla_generated_tokens_total", "", 66},
		{"mla_first_token_seconds", "", 2},
		{"mla_queue_seconds", "", 2},
		{"mla_token_seconds", "", 64},
		{"mla_decode_tokens_per_second", "", 2},
		{"mla_prompt_tokens_per_second", "", 2},
		{"mla_step_rows", "", 82}, // 66 of a token; 210 and 18 rows of prompts by 16
		{"mla_up", "", 1},
		{"mla_sessions", "", sessions},
		{"mla_pages", "used", 0},
		{"mla_device_failures_total", "", 0},
	} {
		family, found := families[c.name], false
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if strings.Join(labels, " ") != c.label {
				continue
			}
			found = true
			if got := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()); got != c.want {
				wrong = append(wrong, fmt.Sprintf("%s{%s} is %v; expected %v", c.name, c.label, got, c.want))
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("there is no %s{%s}", c.name, c.label))
		}
	}
	if sum := families["mla_step_rows"].GetMetric()[0].GetHistogram().GetSampleSum(); sum != 228+66 {
		wrong = append(wrong, fmt.Sprintf("%v rows in all steps", sum))
	}
	return wrong
}

// TestDashboard checks that Grafana's dashboard shows exactly the metrics that exist.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/grafana/mlarun.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, chats...)
	s.some()
	families := s.scrape()
	shown := map[string]bool{}
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Error("a panel shows nothing")
		}
		for _, q := range p.Targets {
			for _, name := range regexp.MustCompile(`\b(mla|process|go)_\w+`).FindAllString(q.Expr, -1) {
				base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
				if f := families[base]; f == nil || (f.GetType() == dto.MetricType_HISTOGRAM) != (base != name) {
					t.Errorf("%s in %q is no metric of the server", name, q.Expr)
				}
				shown[base] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if strings.HasPrefix(name, "mla_") && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// TestSpans checks that a request is a span of its client's trace, with spans for waiting, prompt and
// decoding, and without its text.
func TestSpans(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("mlarun")
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Tracer = tracer }, chats...)
	body := `{"messages": [{"role": "user", "content": "Hello"}], "stream": true}`
	const parent = "0af7651916cd43dd8448eb211c80319c"
	s.do("POST", "/v1/chat/completions", body, "Traceparent", "00-"+parent+"-b7ad6b7169203331-01")
	s.do("POST", "/v1/chat/completions", `{"messages": 7}`)
	s.wait("spans", func() bool { return len(kept.GetSpans()) == 5 })
	byName := map[string]tracetest.SpanStub{}
	for _, span := range kept.GetSpans() {
		if span.Status.Code == 0 {
			byName[span.Name] = span
		} else if span.Status.Description == "" || !strings.Contains(attributes(span), "error.type=invalid_value") || !strings.Contains(attributes(span), "http.response.status_code=400") {
			t.Errorf("%+v", span)
		}
		for _, a := range span.Attributes {
			if strings.Contains(a.Value.String(), "Hello") {
				t.Errorf("%s has the text: %s", span.Name, a.Value.String())
			}
		}
	}
	request := byName["POST /v1/chat/completions"]
	if request.SpanContext.TraceID().String() != parent || request.SpanKind != trace.SpanKindServer {
		t.Errorf("%+v", request)
	}
	for _, want := range []string{"gen_ai.response.model=tiny", "gen_ai.usage.input_tokens=10", "gen_ai.usage.output_tokens=33", "http.response.status_code=200"} {
		if !strings.Contains(attributes(request), want) {
			t.Errorf("%s lacks %s", attributes(request), want)
		}
	}
	before := request.StartTime
	for _, name := range []string{"queue", "prompt", "decode"} {
		span := byName[name]
		if span.Parent.SpanID() != request.SpanContext.SpanID() || span.StartTime.Before(before) || span.EndTime.Before(span.StartTime) || span.EndTime.After(request.EndTime) {
			t.Errorf("%s: %v to %v, after %v and in %v", name, span.StartTime, span.EndTime, before, request.EndTime)
		}
		before = span.StartTime
	}
}

func attributes(s tracetest.SpanStub) string {
	var list []string
	for _, a := range s.Attributes {
		list = append(list, string(a.Key)+"="+a.Value.String())
	}
	return strings.Join(list, " ")
}
