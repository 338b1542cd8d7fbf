// Package server answers clients over HTTP, in the words of OpenAI's API (chat completions,
// completions, responses), of Anthropic's (messages), and of llama-server for the rest.
//
// An endpoint decodes a request into a job, which says what is to be continued and how;
// the job runs on a completion.Service; and the endpoint writes the events that come back,
// all at once or while they come. All chats go through one type of conversation, whatever
// API they came by.
//
// Clients are not trusted: bodies, headers, connections, and the time that a client may
// take to send or to read are limited; nothing is read from a file or fetched for them.
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

// Config says what is served, and to whom.
type Config struct {
	Service *completion.Service
	// Model is the name that clients see.
	Model string
	// Aliases are names beside it by which clients may ask for the model.
	Aliases []string
	// File is the name of the model's file, without its folder.
	File string
	// Context is the greatest length of a prompt with its answer, in tokens.
	Context int
	// Chat writes conversations as the model knows them, with the Escape of its tokenizer.
	Chat chat.Renderer
	// Sampling has the values that a request does not give.
	Sampling sample.Params
	// FixedSeed says that requests without a seed have Sampling's; else each has its own.
	FixedSeed bool
	// Reasoning is how the model thinks if a request does not say.
	Reasoning Reasoning
	// Keys are the API keys of which a request must have one; none: anybody is served.
	Keys []string
	// Hosts are names that a request's Host may have beside addresses; none: any.
	Hosts []string
	// Origins are web pages that may use the server; none: no page but the server's own.
	Origins []string
	Limits  Limits
	Log     *slog.Logger
	// Prompts is a log of the texts of prompts; nil: there is none.
	Prompts *slog.Logger
	// Worker says that a router is the only client: it is told what each request has used.
	Worker  bool
	Tracer  trace.Tracer // of spans; nil: there are none
	Version string
}

// Limits are on what clients can take. Values of 0 are those of DefaultLimits.
type Limits struct {
	Body        int64         // bytes
	Header      int           // bytes
	Connections int           // at a time
	Read        time.Duration // for a header, and for a body
	Write       time.Duration // until a client has read a piece of an answer
	Idle        time.Duration // between two requests of a connection
	Request     time.Duration // from its header to the end of its answer
	Drain       time.Duration // for answers under way when the server is to end
	Ping        time.Duration // between signs of life while nothing is written
}

// DefaultLimits are the limits unless others are given.
var DefaultLimits = Limits{
	Body: 32 << 20, Header: 64 << 10, Connections: 512,
	Read: 30 * time.Second, Write: 30 * time.Second, Idle: 2 * time.Minute, Request: 30 * time.Minute, Drain: 20 * time.Second, Ping: 15 * time.Second,
}

// or takes the place of values that are not given.
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

// Server answers requests. It is an http.Handler, but only Serve has limits on
// connections.
type Server struct {
	cfg      Config
	tok      *tokenizer.Tokenizer
	format   *output.Format // of calls; nil: the model makes none
	toolless bool           // the model's template has no place for declarations of tools
	think    [2]string      // what begins and ends thoughts
	// systemFirst says that the template has no place for a system message but the first.
	systemFirst bool
	turns       map[int32]bool // tokens that end a turn, unless a call follows
	items       *items
	stops       map[int32]bool // tokens that end an answer in a chat
	visible     map[int32]bool // tokens that a chat's parser has to see
	calls       *memory
	scope       string // of the request that this copy of the server is for
	budgets     budgets
	grammars    *grammars
	metrics     *metrics
	keys        []key
	handler     http.Handler
	started     time.Time
}

// newServer is a server that has no paths.
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

// New is a server of a model.
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

// Serve answers on a listener until ctx is done. Then it takes no more requests, waits for
// those at hand as long as Limits.Drain, and cuts what is left.
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
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second+settleTime) // to say so
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
