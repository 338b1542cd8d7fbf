package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mla/runtime/serve/batch"
	"mla/runtime/serve/server"
	"mla/runtime/system/atomicfile"
	"mla/runtime/system/userfile"
)

// broker holds the flags about the message broker of batches.
type broker struct{ url, creds string }

func (b *broker) flags(f *flags) {
	f.StringVar(&b.url, "nats", "", "`address` of a NATS server with JetStream, e.g. nats://localhost:4222")
	f.StringVar(&b.creds, "nats-creds", "", "`file` with credentials for it (default: none, or those in the address)")
}

// connect connects to the server. A lost connection is restored.
func (b *broker) connect(f *flags) (*nats.Conn, jetstream.JetStream, error) {
	if b.url == "" {
		return nil, nil, f.wrong("-nats is missing")
	}
	opts := []nats.Option{nats.Name(f.Name()), nats.MaxReconnects(-1)}
	if b.creds != "" {
		opts = append(opts, nats.UserCredentials(b.creds))
	}
	conn, err := nats.Connect(b.url, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("-nats %s: %w", b.url, err)
	}
	js, err := jetstream.New(conn)
	return conn, js, err
}

// worker answers the requests of batches until it is interrupted.
func worker(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun worker", "-nats URL -model F [-parallel 4] [flags]",
		"Answers requests of batches: it takes one from the NATS server when it has a slot free, and",
		"acknowledges it when its answer is stored there, so that none is lost if a worker crashes.",
		"Any number of workers share a batch. mlarun submit hands one in. The flags of sampling are",
		"for requests that do not say. docs/serving.md has more.").running()
	s := &serving{flags: f, sampling: newSampling(f), limits: server.DefaultLimits}
	s.modelFlags()
	var b broker
	b.flags(f)
	if err := s.read(args); err != nil {
		return err
	}
	conn, js, err := b.connect(f)
	if err != nil {
		return err
	}
	defer conn.Close()
	if s.json { // a reader of JSON cannot read notes
		s.log = s.logger()
	}
	eng, err := s.open()
	if err != nil {
		return err
	}
	defer closingUnused(eng, &err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := s.logger()
	if err := s.settle(eng, eng.Free()); err != nil {
		return err
	}
	service, err := s.service(eng, log)
	if err != nil {
		return err
	}
	cfg, err := s.serverConfig(eng, service, log)
	if err != nil {
		return err
	}
	running, finish := context.WithCancel(context.WithoutCancel(ctx))
	defer finish()
	working, fail := context.WithCancel(ctx)
	defer fail()
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(running)
		fail() // without a model the worker is useless
	}()
	log.Info("working", "nats", conn.ConnectedUrlRedacted(), "model", s.names()[0], "slots", s.parallel)
	w := batch.Worker{Handler: server.New(cfg), Slots: s.parallel, Log: log}
	err = w.Run(working, js)
	finish()
	return errors.Join(err, <-ended)
}

// submit submits a batch, waits for its answers, and writes them.
func submit(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun submit", "-nats URL [-o OUT.jsonl] BATCH.jsonl",
		"Hands the requests of a file in OpenAI's batch format to the workers of a NATS server (mlarun",
		"worker), and writes the answers when all are there, in the order of the requests. Interrupted,",
		"it goes on where it was when it is started again with the same file.")
	var b broker
	b.flags(f)
	to := f.String("o", "", "`file` for the answers (default: standard output)")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return f.wrong("expected one file of requests")
	}
	in, err := userfile.OpenPiped(rest[0])
	if err != nil {
		return err
	}
	file, err := batch.Read(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	conn, js, err := b.connect(f)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := file.Submit(ctx, js); err != nil {
		return err
	}
	f.note("%d requests handed in as batch %s\n", file.Len(), file.Name)
	if *to == "" {
		return file.Collect(ctx, js, shown(e.out), nil)
	}
	var answers bytes.Buffer
	if err := file.Collect(ctx, js, &answers, nil); err != nil {
		return err
	}
	return atomicfile.WritePrivate(*to, answers.Bytes())
}
