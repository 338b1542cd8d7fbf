package otlp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mla/runtime/serve/server/otlp"
)

// TestExport checks that a collector gets the content of the specification's JSON example
// (opentelemetry-proto, examples/trace.json).
func TestExport(t *testing.T) {
	var got map[string]any
	var headers http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers = r.Header
		data, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || json.Unmarshal(data, &got) != nil {
			t.Errorf("%s: %v, %s", r.URL.Path, err, data)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL+"/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
	e, err := otlp.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSyncer(e), sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "x"))))
	tracer, at := p.Tracer("mla"), time.Unix(5, 7)
	ctx, parent := tracer.Start(context.Background(), "parent", trace.WithTimestamp(at))
	_, span := tracer.Start(ctx, "child", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at), trace.WithAttributes(
		attribute.Int("i", 1<<60), attribute.Float64("f", .5), attribute.Bool("b", true), attribute.StringSlice("l", []string{"a"}), attribute.String("s", "é")))
	span.SetStatus(codes.Error, "why")
	span.End(trace.WithTimestamp(at.Add(time.Second)))
	want := map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{"attributes": []any{map[string]any{"key": "service.name", "value": map[string]any{"stringValue": "x"}}}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "mla"}, "spans": []any{map[string]any{
			"traceId": span.SpanContext().TraceID().String(), "spanId": span.SpanContext().SpanID().String(), "parentSpanId": parent.SpanContext().SpanID().String(),
			"name": "child", "kind": 2., "startTimeUnixNano": "5000000007", "endTimeUnixNano": "6000000007", "status": map[string]any{"code": 2., "message": "why"},
			"attributes": []any{
				map[string]any{"key": "i", "value": map[string]any{"intValue": "1152921504606846976"}},
				map[string]any{"key": "f", "value": map[string]any{"doubleValue": .5}},
				map[string]any{"key": "b", "value": map[string]any{"boolValue": true}},
				map[string]any{"key": "l", "value": map[string]any{"arrayValue": map[string]any{"values": []any{map[string]any{"stringValue": "a"}}}}},
				map[string]any{"key": "s", "value": map[string]any{"stringValue": "é"}},
			},
		}}}},
	}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if headers.Get("Authorization") != "Bearer x" || headers.Get("Content-Type") != "application/json" {
		t.Errorf("%v", headers)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector.URL)
	e, err := otlp.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor{e, &failed}))
	_, span := p.Tracer("").Start(context.Background(), "x")
	if span.End(); failed == nil {
		t.Error("a 404 is no error")
	}
}

type processor struct {
	*otlp.Exporter
	failed *error
}

func (p processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	*p.failed = errors.Join(*p.failed, p.ExportSpans(context.Background(), []sdktrace.ReadOnlySpan{s}))
}

func (p processor) ForceFlush(context.Context) error { return nil }

func TestEnvironment(t *testing.T) {
	for value, ok := range map[string]bool{"": true, "localhost:4317": false, "ftp://x": false, "http://": false, "http://[": false} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", value)
		if e, err := otlp.FromEnvironment(); e != nil || (err == nil) != ok {
			t.Errorf("%q: %v, %v", value, e, err)
		}
	}
}
