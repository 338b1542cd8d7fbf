package main

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"mla/runtime/serve/server/otlp"
	"mla/runtime/system/buildinfo"
)

// traces creates spans, and exports them as the environment says.
type traces struct {
	trace.TracerProvider
	sdk *sdktrace.TracerProvider // nil: tracing is off
}

// tracing reads OpenTelemetry's variables. OTEL_EXPORTER_OTLP_ENDPOINT switches spans on. The SDK itself
// reads OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and OTEL_BSP_….
func tracing(ctx context.Context, log *slog.Logger) (*traces, error) {
	exporter, err := otlp.FromEnvironment()
	if err != nil {
		return nil, err
	}
	if exporter == nil {
		return &traces{TracerProvider: noop.NewTracerProvider()}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans", "error", err) }))
	// The attributes of the environment come last, so that they take precedence.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "mlarun"), attribute.String("service.version", buildinfo.Version())), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &traces{p, p}, nil
}

// flushTime is the greatest time for exporting the last spans: a collector that does not answer must not
// delay the end of the program.
const flushTime = 2 * time.Second

// end exports the remaining spans.
func (t *traces) end() {
	if t.sdk == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.sdk.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
