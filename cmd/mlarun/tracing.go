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

// traces makes spans, and sends them where the environment says.
type traces struct {
	trace.TracerProvider
	sdk *sdktrace.TracerProvider // nil: nobody wants any
}

// tracing reads OpenTelemetry's variables: OTEL_EXPORTER_OTLP_ENDPOINT switches spans on,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and OTEL_BSP_… are the
// SDK's own.
func tracing(ctx context.Context, log *slog.Logger) (*traces, error) {
	exporter, err := otlp.FromEnvironment()
	if err != nil {
		return nil, err
	}
	if exporter == nil {
		return &traces{TracerProvider: noop.NewTracerProvider()}, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans", "error", err) }))
	// What the environment says comes last, so that it is what holds.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "mlarun"), attribute.String("service.version", buildinfo.Version())), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &traces{p, p}, nil
}

// flushTime is the most time that the last spans get at the end: a collector that does not
// answer must not hold the program.
const flushTime = 2 * time.Second

// end sends what is left.
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
