package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/scheduler"
	"mla/runtime/serve/server"
	"mla/runtime/system/buildinfo"
)

// serving holds the flags of serve.
type serving struct {
	*flags
	sampling   *sampling
	host       string
	port       int
	alias      string
	keys       []string
	hosts      []string
	origins    []string
	context    int
	capacity   capacity       // capacity of the model, once it is known
	contexts   map[string]int // contexts of the models of -models, by file
	parallel   int
	queue      int
	promptRows int
	promptsDir string
	retries    int // for a device that has failed
	stuck      time.Duration
	models     string // path of the folder
	// modelsMemory is in GiB; 0: all that is available.
	modelsMemory float64
	modelsIdle   time.Duration
	limits       server.Limits
	json         bool
	verbose      bool
	logPrompts   bool
	template     string
	reasoning    reasoningFlags
}

// keptPrompts is how many files -prompt-cache-dir keeps.
const keptPrompts = 16

func newServing(e *env) *serving {
	f := newFlags(e, "mlarun serve", "-model F [-port 8080] [-parallel 4] [-api-key KEY] [flags]",
		"Serves a model over HTTP: /v1/chat/completions, /v1/completions, /v1/responses and /v1/models",
		"as OpenAI's API has them, /v1/messages as Anthropic's, /api/chat and /api/generate as Ollama's,",
		"and /completion, /infill, /health, /metrics, /props, /slots, /tokenize, /detokenize,",
		"/apply-template as llama-server. Requests run together and share what",
		"their prompts begin with. Ctrl-C lets answers under way end, a second one cuts them.",
		"The flags of sampling are for requests that do not say. docs/serving.md has examples.").running()
	s := &serving{flags: f, sampling: newSampling(f), limits: server.DefaultLimits}
	s.modelFlags()
	f.StringVar(&s.host, "host", "127.0.0.1", "`address` to listen on; 0.0.0.0 is all of the machine's, and then -api-key should be given")
	f.IntVar(&s.port, "port", 8080, "`number` of the port to listen on; 0: any that is free")
	f.StringVar(&s.models, "models", "", "`folder` of model files, in place of -model: each is loaded in a process of its own when a request names it, and unloaded when another one needs the memory")
	f.Float64Var(&s.modelsMemory, "models-memory", 0, "`GiB` that loaded models may take together, caches included (default: as much as is available at the start)")
	f.DurationVar(&s.modelsIdle, "models-idle", 10*time.Minute, "`time` after which a model that nobody uses is unloaded; 0: never")
	list := func(to *[]string) func(string) error {
		return func(text string) error {
			if *to = append(*to, text); text == "" {
				return errors.New("it is empty")
			}
			return nil
		}
	}
	apiKey := func(text string) error {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("it is empty, or no request can have it; expected characters of ASCII, without blanks")
		}
		s.keys = append(s.keys, text)
		return nil
	}
	origin := func(text string) error {
		s.origins = append(s.origins, text)
		return server.CheckOrigin(text)
	}
	f.Func("api-key", "`key` that requests must have, as bearer or x-api-key; may be given several times. The arguments of a process are seen by all, its variables are not", apiKey)
	f.Func("allow-host", "`name` by which requests may call the server beside addresses (default: localhost and, on other than a loopback address, the machine's own name; any with -api-key); may be given several times", list(&s.hosts))
	f.Func("cors-origin", "`origin` of web pages that may use the server, e.g. http://localhost:3000; localhost is any page of this machine, * any page at all (default: none); may be given several times", origin)
	f.IntVar(&s.queue, "queue", completion.DefaultQueue, "`requests` that may wait; further ones are told to come again (429)")
	f.DurationVar(&s.limits.Drain, "drain", s.limits.Drain, "`time` that answers have to end when the server is stopped")
	f.Int64Var(&s.limits.Body, "max-body", s.limits.Body, "`bytes` of a request's body")
	f.IntVar(&s.limits.Connections, "max-connections", s.limits.Connections, "most `connections` at a time")
	f.BoolVar(&s.verbose, "v", false, "log health checks and broken connections too")
	return s
}

// modelFlags adds the flags about the model and how it is run.
func (s *serving) modelFlags() {
	s.drafts()
	s.StringVar(&s.alias, "alias", "", "`name` of the model in answers; further ones by which it may be asked for stand after commas (default: the file's)")
	s.templateFlag(&s.template)
	s.reasoning.add(s.flags)
	s.IntVar(&s.context, "c", 0, "`tokens` of context of each request, prompt and answer together (default: as many as the model has and memory allows)")
	s.IntVar(&s.parallel, "parallel", 4, "`requests` that run at a time; the caches have room for all of them at full length")
	s.IntVar(&s.promptRows, "prompt-rows", scheduler.DefaultPromptRows, "`tokens` of prompts that are run between two tokens of the answers under way")
	s.StringVar(&s.promptsDir, "prompt-cache-dir", "", fmt.Sprintf("`folder` that keeps what the last %d texts have left in the caches, from the end of one run to the next", keptPrompts))
	s.IntVar(&s.retries, "device-retries", completion.DefaultRetries, "`times` that the model is loaded again after failures of the device, with no request done in between; then the server ends with exit code 3")
	s.DurationVar(&s.stuck, "device-stuck", completion.DefaultStuck, "`time` that a step of the device may take before the server ends with exit code 3")
	s.DurationVar(&s.limits.Request, "timeout", s.limits.Request, "`time` that a request may take")
	s.BoolVar(&s.json, "log-json", false, "write the log as JSON lines")
	s.BoolVar(&s.logPrompts, "log-prompts", false, "log the texts of prompts")
}

// serve answers requests until it is interrupted.
func serve(e *env, args []string) (err error) {
	s := newServing(e)
	if err := s.read(args); err != nil {
		return err
	}
	if s.models != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		return s.serveModels(ctx)
	}
	switch {
	case isWorker():
		s.log = workerLog(s.env.out)
	case s.json: // a reader of JSON cannot read notes
		s.log = s.logger()
	}
	eng, err := s.open()
	if err != nil {
		return err
	}
	defer closingUnused(eng, &err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return s.run(ctx, stop, eng)
}

// read parses the command line.
func (s *serving) read(args []string) error {
	rest, err := s.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return s.wrong("unexpected argument %q", rest[0])
	case s.model == "" && s.models == "":
		return s.wrong("-model is missing, or -models")
	case s.models != "" && (s.model != "" || s.alias != ""):
		return s.wrong("-models is in place of -model and -alias")
	case s.alias != "" && slices.Contains(s.names(), ""):
		return s.wrong("-alias is %q; a name is empty", s.alias)
	case s.modelsMemory < 0 || s.modelsIdle < 0:
		return s.wrong("-models-memory and -models-idle must not be negative")
	}
	return s.check()
}

func (s *serving) check() error {
	switch {
	case s.port < 0 || s.port > 65535:
		return s.wrong("-port is %d; expected 0 to 65535", s.port)
	case s.parallel < 1 || s.parallel > device.MaxTables:
		return s.wrong("-parallel is %d; expected 1 to %d", s.parallel, device.MaxTables)
	case s.queue < 0:
		return s.wrong("-queue is %d; expected 0 or more", s.queue)
	case s.promptRows < 1:
		return s.wrong("-prompt-rows is %d; expected 1 or more", s.promptRows)
	case s.context < 0:
		return s.wrong("-c is %d; expected 1 or more, or 0 for the default", s.context)
	case s.limits.Body < 1 || s.limits.Connections < 1 || s.limits.Request <= 0 || s.limits.Drain <= 0:
		return s.wrong("-max-body, -max-connections, -timeout and -drain must be more than 0")
	case s.retries < 0 || s.stuck <= 0:
		return s.wrong("-device-retries must not be negative, and -device-stuck must be more than 0")
	}
	if s.promptsDir != "" {
		if info, err := os.Stat(s.promptsDir); err != nil || !info.IsDir() {
			return s.wrong("-prompt-cache-dir: %s is no folder", s.promptsDir)
		}
	}
	if _, err := s.config(1); err != nil {
		return err
	}
	if _, err := s.reasoning.read(s.flags); err != nil {
		return err
	}
	if err := s.checkDraft(); err != nil {
		return err
	}
	return s.sampling.check(s.flags)
}

// listen opens the port, and sets up tracing.
func (s *serving) listen(ctx context.Context, log *slog.Logger) (net.Listener, *traces, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(s.host, strconv.Itoa(s.port)))
	if err != nil {
		return nil, nil, err
	}
	s.warnOpen(log)
	traces, err := tracing(ctx, log)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, traces, nil
}

// run listens, loads the model, and answers until ctx is done. Clients that send requests during loading are
// told that the model is loading. restore restores the usual effect of an interrupt.
func (s *serving) run(ctx context.Context, restore func(), eng *engine.Engine) error {
	log := s.logger()
	s.quiet = s.quiet || s.json // a reader of JSON cannot read notes
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
	l, traces, err := s.listen(ctx, log)
	if err != nil {
		return err
	}
	defer traces.end()
	cfg.Keys, cfg.Hosts, cfg.Origins, cfg.Tracer = s.keys, s.allowedHosts(), s.origins, traces.Tracer("mlarun")
	web := server.New(cfg)
	log.Info("listening", "address", "http://"+l.Addr().String(), "model", s.names()[0], "keys", len(s.keys))
	s.announce(ctx, "http://"+l.Addr().String(), func() bool { return service.Stats().State == completion.Ready })
	running, finish := context.WithCancel(context.WithoutCancel(ctx))
	defer finish()
	serving, fail := context.WithCancel(ctx)
	defer fail()
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(running)
		fail() // without a model the server is useless
	}()
	context.AfterFunc(ctx, restore)
	err = web.Serve(serving, l)
	finish()
	return errors.Join(err, <-ended)
}

// closingUnused is closing, unless the device is still running a step: then the memory that the step reads
// must stay until the process ends.
func closingUnused(eng *engine.Engine, err *error) {
	var lost *completion.DeviceError
	if !errors.As(*err, &lost) || !lost.Stuck() {
		closing(eng, err)
	}
}

// serverConfig returns the server's configuration, which describes the model to clients.
func (s *serving) serverConfig(eng *engine.Engine, service *completion.Service, log *slog.Logger) (server.Config, error) {
	t, err := eng.Tokenizer()
	if err != nil {
		return server.Config{}, err
	}
	renderer, err := chatFormat(eng, t, s.template)
	if err != nil {
		return server.Config{}, err
	}
	s.sampling.recommended(eng.File())
	reasoning, err := s.reasoning.read(s.flags)
	return server.Config{
		Service: service, Model: s.names()[0], Aliases: s.names()[1:], File: filepath.Base(s.model), Context: s.capacity.context, Chat: renderer, Sampling: s.sampling.of(t), FixedSeed: s.given("seed"), Reasoning: reasoning,
		Limits: s.limits, Log: log, Prompts: s.promptLog(log), Worker: isWorker(), Version: buildinfo.Version(),
	}, err
}

// settle determines the capacity for requests. The capacity stays the same when the model is loaded again, as
// clients rely on the context.
func (s *serving) settle(eng *engine.Engine, free int64) (err error) {
	if most := eng.MaxContext(); s.context > most {
		return fmt.Errorf("-c is %d; this model allows 1 to %d", s.context, most)
	}
	s.capacity, err = s.capacityFor(eng, s.context, s.parallel, free)
	return err
}

// names returns the model's names for clients. A worker's model has the name of its file, which may contain
// commas.
func (s *serving) names() []string {
	switch {
	case s.alias == "":
		return []string{strings.TrimSuffix(filepath.Base(s.model), ".gguf")}
	case isWorker():
		return []string{s.alias}
	}
	return strings.Split(s.alias, ",")
}

// loopback says whether only this machine can reach the server.
func (s *serving) loopback() bool {
	addr, err := netip.ParseAddr(s.host)
	return s.host == "localhost" || err == nil && addr.IsLoopback()
}

// allowedHosts returns the host names that requests may use besides addresses; none: any. The page of an
// attacker could resolve its own name to this server's address, and the browser would then send its requests
// (DNS rebinding). A loopback address is only called localhost. The names of other addresses are unknown
// here, so any name is allowed if there is a key, which such a page does not have.
func (s *serving) allowedHosts() []string {
	if len(s.hosts) == 0 && len(s.keys) > 0 && !s.loopback() {
		return nil
	}
	list := append([]string{"localhost", s.host}, s.hosts...)
	if s.loopback() || len(s.keys) > 0 {
		return list
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		return list
	}
	short, _, _ := strings.Cut(name, ".")
	return append(list, name, short, short+".local")
}

// warnOpen warns if anyone on the network may use the server.
func (s *serving) warnOpen(log *slog.Logger) {
	if !s.loopback() && len(s.keys) == 0 {
		log.Warn("whoever reaches this machine may use the server: -api-key is not given", "host", s.host)
	}
}

func (s *serving) logger() *slog.Logger {
	opts := &slog.HandlerOptions{}
	switch {
	case s.quiet:
		opts.Level = slog.LevelError
	case s.verbose:
		opts.Level = slog.LevelDebug
	}
	if s.json {
		return slog.New(slog.NewJSONHandler(s.env.err, opts))
	}
	return slog.New(slog.NewTextHandler(s.env.err, opts))
}
