package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A request is a span, with the names of OpenTelemetry's conventions for HTTP and for generative AI. Within
// it, waiting, the prompt, and the decoding of each choice are spans. Like the log, spans never contain
// texts.

// begin begins the span of a request. It continues the client's trace if the request's headers name one.
func (s *Server) begin(r *http.Request, pattern string) (context.Context, trace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return s.cfg.Tracer.Start(ctx, pattern, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("url.path", clip(r.URL.Path, 200)),
		attribute.String("gen_ai.response.model", s.cfg.Model)))
}

// end ends the span of a request, with the attributes of its log line.
func (n *note) end(span trace.Span) {
	if span.IsRecording() {
		for _, a := range n.attrs {
			if name := spanNames[a.Key]; name != "" && a.Value.Kind() == slog.KindInt64 {
				span.SetAttributes(attribute.Int64(name, a.Value.Int64()))
			}
		}
		status := http.StatusOK
		if n.failed != nil {
			span.SetAttributes(attribute.String("error.type", n.failed.code()))
			span.SetStatus(codes.Error, n.failed.Message)
			status = n.failed.Status
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status))
	}
	span.End()
}

// spanNames maps attributes of the log to those of spans.
var spanNames = map[string]string{
	"prompt": "gen_ai.usage.input_tokens", "cached": "gen_ai.usage.cache_read.input_tokens", "generated": "gen_ai.usage.output_tokens",
}

// trace adds the spans of a choice that has just ended.
func (s *Server) trace(ctx context.Context, number int, e *ending) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	r, end := &e.result, time.Now()
	decode := end.Add(-r.Decode.Elapsed)
	prompt := decode.Add(-r.Prompt.Elapsed)
	for _, p := range []struct {
		name       string
		start, end time.Time
		tokens     int
	}{
		{"queue", prompt.Add(-queued(r)), prompt, 0},
		{"prompt", prompt, decode, r.Prompt.Tokens},
		{"decode", decode, end, r.Decode.Tokens},
	} {
		_, span := s.cfg.Tracer.Start(ctx, p.name, trace.WithTimestamp(p.start), trace.WithAttributes(
			attribute.Int("mla.choice", number), attribute.Int("mla.tokens", p.tokens)))
		span.End(trace.WithTimestamp(p.end))
	}
}
