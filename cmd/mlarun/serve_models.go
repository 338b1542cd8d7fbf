package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/fleet"
	"mla/runtime/serve/server"
	"mla/runtime/system/buildinfo"
	"mla/runtime/system/child"
)

// workerVariable makes mlarun serve run as a worker of another mlarun. The worker writes its address on
// standard output, and ends together with the process that started it.
const workerVariable = "MLA_WORKER"

// laterPart matches the name of a later part of a split file.
var laterPart = regexp.MustCompile(`-\d{5}-of-\d{5}\.gguf$`)

// modelFiles returns the model files of -models, by the names for clients.
func (s *serving) modelFiles() (map[string]string, error) {
	entries, err := os.ReadDir(s.models)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, e := range entries {
		if e.Type()&fs.ModeType&^fs.ModeSymlink != 0 || filepath.Ext(e.Name()) != ".gguf" {
			continue
		}
		name := e.Name()
		if part := laterPart.FindString(name); part != "" {
			if !strings.HasPrefix(part, "-00001-") {
				continue
			}
			name = strings.TrimSuffix(name, part) + ".gguf"
		}
		files[strings.TrimSuffix(name, ".gguf")] = filepath.Join(s.models, e.Name())
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("-models: %s has no GGUF files", s.models)
	}
	return files, nil
}

// sizes returns the models for which this program has kernels, with the memory that each needs.
func (s *serving) sizes(files map[string]string, log *slog.Logger) ([]fleet.Model, error) {
	var list []fleet.Model
	s.contexts = map[string]int{}
	for name, path := range files {
		bytes, err := s.size(path, len(files))
		if err != nil {
			log.Warn("a model is left out", "file", path, "error", err)
			continue
		}
		list = append(list, fleet.Model{Name: name, Bytes: bytes})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("-models: none of the files of %s can be run", s.models)
	}
	slices.SortFunc(list, func(a, b fleet.Model) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// size returns the memory that one of several models needs. Without -c each gets an equal share of the
// memory.
func (s *serving) size(path string, models int) (bytes int64, err error) {
	of := *s.flags
	of.model, of.keptOnly, of.log = path, true, nil // the worker prints the messages
	eng, err := of.open()
	if err != nil {
		return 0, err
	}
	defer closing(eng, &err)
	free := eng.Free()
	if limit := s.modelsLimit(); limit > 0 && limit < free {
		free = limit
	}
	if err := s.settle(eng, free/int64(models)); err != nil {
		return 0, err
	}
	s.contexts[path] = s.capacity.context
	cfg, err := of.configFor(eng, s.capacity)
	if err != nil {
		return 0, err
	}
	memory, err := eng.Estimate(cfg)
	return memory.Total(), err
}

// modelsLimit returns -models-memory in bytes; 0: it was not given.
func (s *serving) modelsLimit() int64 { return int64(s.modelsMemory * (1 << 30)) }

// frontFlags are the flags about clients, which are not passed to workers.
var frontFlags = []string{"models", "models-memory", "models-idle", "host", "port", "api-key", "allow-host", "cors-origin", "max-connections", "log-json"}

// serveModels answers requests for all models of a folder until it is interrupted.
func (s *serving) serveModels(ctx context.Context) error {
	log := s.logger()
	s.quiet, s.log = true, log
	files, err := s.modelFiles()
	if err != nil {
		return err
	}
	models, err := s.sizes(files, log)
	if err != nil {
		return err
	}
	l, traces, err := s.listen(ctx, log)
	if err != nil {
		return err
	}
	defer traces.end()
	limit := s.modelsLimit()
	if limit == 0 {
		limit = engine.Available()
	}
	key := rand.Text()
	f := fleet.New(fleet.Config{Models: models, Memory: limit, Idle: s.modelsIdle, Log: log,
		Run: func(ctx context.Context, m fleet.Model, ready func(string)) error {
			return s.worker(ctx, files[m.Name], m.Name, key, log, ready)
		}})
	defer f.Close()
	web := server.NewRouter(server.Config{Keys: s.keys, Hosts: s.allowedHosts(), Origins: s.origins, Limits: s.limits, Log: log,
		Tracer: traces.Tracer("mlarun"), Version: buildinfo.Version()}, f, key)
	log.Info("listening", "address", "http://"+l.Addr().String(), "models", len(models), "memory", engine.Size(limit), "keys", len(s.keys))
	return web.Serve(ctx, l)
}

// asGiven returns a flag as it would be written on a command line.
func asGiven(f *flag.Flag) (args []string) {
	values := []string{f.Value.String()}
	if r, ok := f.Value.(repeated); ok {
		values = r.values()
	}
	for _, v := range values {
		args = append(args, "-"+f.Name+"="+v)
	}
	return args
}

// worker runs the server of a model in its own process.
func (s *serving) worker(ctx context.Context, path, name, key string, log *slog.Logger, ready func(string)) error {
	args := []string{"serve", "-model", path, "-alias", name, "-port", "0", "-quiet"}
	s.Visit(func(f *flag.Flag) {
		if !slices.Contains(frontFlags, f.Name) && f.Name != "quiet" {
			args = append(args, asGiven(f)...)
		}
	})
	args = append(args, fmt.Sprintf("-c=%d", s.contexts[path])) // the context with which its memory was computed
	c, err := s.env.self(args)
	if err != nil {
		return err
	}
	c.Env = append(c.Env, "MLA_API_KEY="+key, "MLA_MODELS=", workerVariable+"=1")
	c.Limit = math.MaxInt64 // runs until it is stopped
	var once sync.Once
	prompts := &promptReader{log: log.With("model", name)}
	c.Line = func(line []byte) {
		if text, ok := noteOf(string(line)); ok {
			log.Info(text, "model", name)
		}
		prompts.line(string(line))
		address, ok := strings.CutPrefix(string(line), "ready ")
		if ok {
			once.Do(func() { ready(address) })
		}
	}
	if o := child.Run(ctx, c); o.End != child.Done && o.End != child.Stopped {
		return fmt.Errorf("%s: %s", o.End, o.Reason)
	}
	return nil
}

// isWorker says whether another mlarun has started this one.
func isWorker() bool { return os.Getenv(workerVariable) != "" }

// announce tells the process that started this worker when the model is ready.
func (s *serving) announce(ctx context.Context, address string, ready func() bool) {
	if !isWorker() {
		return
	}
	child.Guard()
	go func() {
		for !ready() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		fmt.Fprintln(s.env.out, "ready", address)
	}()
}
