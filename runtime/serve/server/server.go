// Package server is the HTTP server. It implements OpenAI's API (chat completions, completions, responses),
// Anthropic's (messages), Ollama's, and llama-server's for the rest.
//
// An endpoint decodes a request to a job: what is to be generated, and how. The job runs on a
// completion.Service. The endpoint writes the resulting events, streamed or as one response. Chats of all
// APIs are converted to one type of conversation.
//
// Clients are not trusted: bodies, headers, connections, and the time for sending and reading are limited.
// The server never reads a file or fetches an address for a client.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"mla/runtime/serve/completion"
	"mla/runtime/text/chat"
	"mla/runtime/text/chat/output"
	"mla/runtime/text/sample"
	"mla/runtime/text/tokenizer"
)

// Config is the settings of a server.
type Config struct {
	Service *completion.Service
	// Model is the name that clients see.
	Model string
	// Aliases are further names by which clients may name the model.
	Aliases []string
	// File is the name of the model's file, without its folder.
	File string
	// Context is the greatest length of a prompt with its answer, in tokens.
	Context int
	// Chat renders conversations in the model's format, with the Escape of its tokenizer.
	Chat chat.Renderer
	// Sampling is the defaults for values that a request does not have.
	Sampling sample.Params
	// FixedSeed says that requests without a seed use Sampling's; otherwise each gets a random one.
	FixedSeed bool
	// Reasoning is the default for how the model thinks.
	Reasoning Reasoning
	// Keys are the accepted API keys; none: no key is needed.
	Keys []string
	// Hosts are the accepted names in a request's Host, beside addresses; none: any name.
	Hosts []string
	// Origins are the web pages that may use the server, beside its own page.
	Origins []string
	Limits  Limits
	Log     *slog.Logger
	// Prompts is a log of the texts of prompts; nil: they are not logged.
	Prompts *slog.Logger
	// Worker says that the only client is a router, which is told what each request has used.
	Worker  bool
	Tracer  trace.Tracer // nil: no spans
	Version string
}

// Limits bounds what clients can use. Values of 0 mean those of DefaultLimits.
type Limits struct {
	Body        int64         // in bytes
	Header      int           // in bytes
	Connections int           // concurrent ones
	Read        time.Duration // for a header, and for a body
	Write       time.Duration // until a client has read a piece of a response
	Idle        time.Duration // between two requests on a connection
	Request     time.Duration // from its header to the end of its response
	Drain       time.Duration // for unfinished responses when the server shuts down
	Ping        time.Duration // between signs of life while nothing is written
}

// DefaultLimits is the default limits.
var DefaultLimits = Limits{
	Body: 32 << 20, Header: 64 << 10, Connections: 512,
	Read: 30 * time.Second, Write: 30 * time.Second, Idle: 2 * time.Minute, Request: 30 * time.Minute, Drain: 20 * time.Second, Ping: 15 * time.Second,
}

// or fills in values that are not given.
func (l Limits) or(d Limits) Limits {
	set(&l.Body, d.Body)
	set(&l.Header, d.Header)
	set(&l.Connections, d.Connections)
	for _, v := range []struct{ at, value *time.Duration }{
		{&l.Read, &d.Read}, {&l.Write, &d.Write}, {&l.Idle, &d.Idle}, {&l.Request, &d.Request}, {&l.Drain, &d.Drain}, {&l.Ping, &d.Ping},
	} {
		set(v.at, *v.value)
	}
	return l
}

func set[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

// Server answers requests. It is an http.Handler; limits on connections hold only with Serve.
type Server struct {
	cfg      Config
	tok      *tokenizer.Tokenizer
	format   *output.Format // of calls; nil: the model makes no calls
	toolless bool           // the model's template does not support tools
	think    [2]string      // the markers of thoughts
	// systemFirst says that the template supports a system message only at the beginning.
	systemFirst bool
	turns       map[int32]bool // tokens that end a turn, unless a call follows
	items       *items
	stops       map[int32]bool // tokens that end an answer in a chat
	visible     map[int32]bool // tokens that a chat's parser has to see
	calls       *memory
	scope       string // of the request that this copy of the server serves
	budgets     budgets
	grammars    *grammars
	metrics     *metrics
	keys        []key
	handler     http.Handler
	started     time.Time
}

// newServer returns a server without paths.
func newServer(cfg Config) *Server {
	cfg.Limits = cfg.Limits.or(DefaultLimits)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Server{cfg: cfg, metrics: newMetrics(), budgets: newBudgets(), keys: hashKeys(cfg.Keys), started: time.Now()}
}

// New returns a server of a model.
func New(cfg Config) *Server {
	s := newServer(cfg)
	s.tok, s.calls = cfg.Service.Tokenizer(), newMemory()
	s.format, s.toolless = output.FormatOf(cfg.Chat.Template()), chat.HidesTools(cfg.Chat)
	s.think, s.systemFirst = chat.ThoughtMarks(cfg.Chat.Template()), wantsSystemFirst(cfg.Chat)
	s.items = newItems()
	s.stops, s.visible, s.turns = map[int32]bool{}, map[int32]bool{}, map[int32]bool{}
	for _, text := range cfg.Chat.Stops() {
		if id, ok := s.tok.TokenID(text); ok {
			s.stops[id] = true
		}
	}
	markers := s.think[:]
	if s.format != nil {
		markers = append(markers, s.format.Markers()...)
		for _, text := range s.format.TurnEnds() {
			if id, ok := s.tok.TokenID(text); ok {
				s.turns[id] = true
			}
		}
	}
	for _, text := range markers {
		if id, ok := s.tok.TokenID(text); ok {
			s.visible[id] = true
		}
	}
	s.grammars = s.newGrammars()
	s.metrics.ofAnswers()
	s.metrics.llama = &llamaMetrics{service: cfg.Service}
	s.metrics.registry.MustRegister(serviceMetrics{cfg.Service}, s.metrics.llama)
	s.handler = s.around(s.mux(s.routes()))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers on a listener until ctx is done. Then it accepts no more requests, waits up to Limits.Drain
// for unfinished ones, and cuts off the rest.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	limits := s.cfg.Limits
	limited := limitConnections(l, limits.Connections)
	web := &http.Server{
		Handler: s, BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		ReadHeaderTimeout: limits.Read, IdleTimeout: limits.Idle, MaxHeaderBytes: limits.Header, ConnState: limited.state,
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(limited) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.cfg.Log.Info("shutting down", "drain", limits.Drain)
	drain, cancel := context.WithTimeout(base, limits.Drain)
	defer cancel()
	if err := web.Shutdown(drain); errors.Is(err, context.DeadlineExceeded) {
		cut(errShutdown)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second+settleTime) // time to send the last errors
		defer cancel()
		if web.Shutdown(last) != nil {
			return web.Close()
		}
	}
	return nil
}

var (
	errShutdown = errors.New("the server is shutting down")
	errDeadline = errors.New("the request took longer than the server allows")
)
