// Package otlp sends OpenTelemetry spans to a collector as JSON over HTTP:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. The SDK's own exporter links gRPC and
// would make the program 7 MB larger.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Exporter sends spans. It implements trace.SpanExporter.
type Exporter struct {
	url     string
	headers http.Header
	client  http.Client
}

// timeout is the specification's default for one export.
const timeout = 10 * time.Second

// FromEnvironment returns the exporter that the environment variables of OpenTelemetry's specification ask
// for (OTEL_EXPORTER_OTLP_ENDPOINT and others); nil: they ask for none.
func FromEnvironment() (*Exporter, error) {
	address, below := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if address == "" {
		address, below = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "v1/traces"
	}
	if address == "" || os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is %q; expected an address such as http://localhost:4318", address)
	}
	e := &Exporter{url: u.JoinPath(below).String(), headers: http.Header{}, client: http.Client{Timeout: timeout}}
	for _, list := range []string{os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), os.Getenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS")} {
		for pair := range strings.SplitSeq(list, ",") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok {
				continue
			}
			if value, err = url.QueryUnescape(strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %v", err)
			}
			e.headers.Set(strings.TrimSpace(name), value)
		}
	}
	return e, nil
}

// ExportSpans implements trace.SpanExporter.
func (e *Exporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = e.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	out, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	said, err := io.ReadAll(io.LimitReader(out.Body, 1<<10))
	if out.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s %s", e.url, out.Status, said)
	}
	return err
}

// Shutdown implements trace.SpanExporter.
func (e *Exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// The types have the names of OTLP's messages.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	span struct {
		TraceID      string     `json:"traceId"` // hexadecimal, like all ids
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"` // 64-bit numbers are strings
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes"`
		Status       status     `json:"status"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// encode makes a request of spans, which all have the same resource.
func encode(spans []trace.ReadOnlySpan) request {
	scopes := map[scope]int{}
	out := resourceSpans{Resource: attributes{resourceValues(spans[0].Resource())}}
	for _, s := range spans {
		by := scope{s.InstrumentationScope().Name, s.InstrumentationScope().Version}
		at, ok := scopes[by]
		if !ok {
			at = len(out.ScopeSpans)
			scopes[by] = at
			out.ScopeSpans = append(out.ScopeSpans, scopeSpans{Scope: by})
		}
		out.ScopeSpans[at].Spans = append(out.ScopeSpans[at].Spans, encodeSpan(s))
	}
	return request{[]resourceSpans{out}}
}

func encodeSpan(s trace.ReadOnlySpan) span {
	out := span{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()), Attributes: values(s.Attributes()),
	}
	if s.Parent().HasSpanID() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	switch s.Status().Code { // OTLP's numbers differ from those of Go's SDK
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = status{2, s.Status().Description}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func resourceValues(r *resource.Resource) []keyValue { return values(r.Attributes()) }

func values(list []attribute.KeyValue) []keyValue {
	out := make([]keyValue, 0, len(list))
	for _, a := range list {
		out = append(out, keyValue{string(a.Key), value(a.Value)})
	}
	return out
}

func value(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		list := []any{}
		for _, s := range v.AsStringSlice() {
			list = append(list, map[string]any{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": list}}
	}
	return map[string]any{"stringValue": v.String()}
}
