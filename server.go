package mla

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
	"mla/runtime/serve/server"
	"mla/runtime/system/buildinfo"
)

// ServerOptions say how a model is served. The zero value is a good choice.
type ServerOptions struct {
	// Name is the model's for clients; "": that of its file.
	Name string
	// Queue is how many requests may wait while Options.Sessions others run; 0: 64. Further
	// requests are told to come again.
	Queue int
	// Sampling is for requests that do not say; nil: the likeliest token every time.
	Sampling *Sampling
	// Keys are API keys, one of which a request must have; none: anybody is served.
	Keys []string
	// Hosts are names by which requests may call the server, beside addresses; none: localhost.
	// Pages of strangers could give their own name to the server's address.
	Hosts []string
	// Origins are web pages that may use the server; none: only its own page.
	Origins []string
	// Log gets a line for every request; nil: there is no log.
	Log *slog.Logger
}

// Server serves a model over HTTP, as mlarun serve does: the APIs of OpenAI, Anthropic, Ollama
// and llama-server, metrics, and the page at /. It is an http.Handler for any number of goroutines.
type Server struct {
	http.Handler
	stop    context.CancelFunc
	ended   chan error
	closing sync.Once
	err     error
}

// NewServer serves the model from now on, for [Options].Sessions requests at a time. The model
// belongs to the server then: what else would run it fails. Server.Close ends the server, and
// Model.Close comes after it.
func (m *Model) NewServer(o ServerOptions) (*Server, error) {
	if m.served {
		return nil, errors.New("the model has a server already")
	}
	r, err := m.renderer()
	if err != nil {
		return nil, err
	}
	service := completion.New(completion.Config{
		Load: m.loads(), Tokenizer: m.tokenizer, Queue: cmp.Or(o.Queue, completion.DefaultQueue), Draft: m.drafting.Drafters(), Log: o.Log,
		Scheduler: scheduler.Config{Ahead: completion.AheadAlone},
	})
	sampling := Greedy()
	if o.Sampling != nil {
		sampling = *o.Sampling
	}
	sampling.Vocabulary = m.tokenizer
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{stop: stop, ended: make(chan error, 1)}
	m.served = true
	go func() { s.ended <- service.Run(ctx) }()
	for service.Stats().State == completion.Loading { // what is loaded already is there at once
		time.Sleep(time.Millisecond)
	}
	file := filepath.Base(m.engine.File().Path)
	if o.Name == "" {
		o.Name = strings.TrimSuffix(file, ".gguf")
	}
	if len(o.Hosts) == 0 {
		o.Hosts = []string{"localhost"}
	}
	s.Handler = server.New(server.Config{
		Service: service, Model: o.Name, File: file, Context: m.Context(), Chat: r, Sampling: sampling,
		Keys: o.Keys, Hosts: o.Hosts, Origins: o.Origins, Log: o.Log, Version: buildinfo.Version(),
	})
	return s, nil
}

// loads brings the model to its device: the first time it is there.
func (m *Model) loads() func(context.Context) (*engine.Model, error) {
	loaded := m.model
	return func(context.Context) (*engine.Model, error) {
		if first := loaded; first != nil {
			loaded = nil
			return first, nil
		}
		return m.engine.Load(m.config)
	}
}

// Close ends the requests at hand, and frees what the device has of the model. Closing twice does
// nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.err = <-s.ended
	})
	return s.err
}
