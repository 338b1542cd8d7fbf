package completion

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"mla/runtime/engine"
	"mla/runtime/engine/paging"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
)

// Prompts keeps the cache rows of the last texts in files of a folder, so that they survive a restart. Files
// are written when a service ends.
type Prompts struct {
	Dir string // must exist
	Key func(*engine.Model) (promptcache.Key, error)
	Max int // most files

	mu    sync.Mutex
	texts []ranText // the last ones; none is a beginning of a later one of its scope
}

// ranText is a text that was run, and the scope of requests that may find it.
type ranText struct {
	scope  string
	tokens []int32
}

// extension is the file name extension. Other files in the folder are not touched.
const extension = ".mlaprompt"

// ran records a text that was run.
func (p *Prompts) ran(scope string, prompt, generated []int32) {
	if p == nil {
		return
	}
	text := ranText{scope, slices.Concat(prompt, generated)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = slices.DeleteFunc(p.texts, func(t ranText) bool {
		return t.scope == scope && paging.CommonPrefix(t.tokens, text.tokens) == len(t.tokens)
	})
	p.texts = append(p.texts, text)
	p.texts = p.texts[max(0, len(p.texts)-p.Max):]
}

// files lists the prompt caches in the folder, the oldest first.
func (p *Prompts) files() (paths []string, err error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return nil, err
	}
	type file struct {
		path string
		time int64
	}
	var list []file
	for _, e := range entries {
		path := filepath.Join(p.Dir, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(path) != extension || promptcache.Check(path) != nil {
			continue
		}
		list = append(list, file{path, info.ModTime().UnixNano()})
	}
	slices.SortFunc(list, func(a, b file) int { return int(min(max(a.time-b.time, -1), 1)) })
	for _, f := range list {
		paths = append(paths, f.path)
	}
	return paths, nil
}

// restore loads the files into the model's pages. It skips files that cannot be used.
func (p *Prompts) restore(ctx context.Context, m *engine.Model, log *slog.Logger) error {
	key, err := p.Key(m)
	if err != nil {
		return err
	}
	paths, err := p.files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		n, err := restoreFile(ctx, m, path, key)
		if err != nil {
			log.Warn("a kept prompt is of no use", "file", path, "error", err)
			continue
		}
		log.Info("prompt restored", "file", path, "tokens", n)
	}
	return ctx.Err()
}

func restoreFile(ctx context.Context, m *engine.Model, path string, key promptcache.Key) (n int, err error) {
	f, err := promptcache.Open(path, key)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s, err := m.NewScopedSession(f.Scope)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	// The last token of a prompt is left to be run, so any token serves.
	text := append(slices.Clone(f.Tokens[:min(len(f.Tokens), m.Context()-1)]), 0)
	return s.Restore(ctx, f, text)
}

// save writes the pages of the last texts that the model still has, and removes the oldest files beyond Max.
func (p *Prompts) save(m *engine.Model, log *slog.Logger) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	texts := p.texts
	p.mu.Unlock()
	if len(texts) == 0 {
		return nil
	}
	key, err := p.Key(m)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if err := p.saveText(m, key, text, log); err != nil {
			return err
		}
	}
	paths, err := p.files()
	for _, path := range paths[:max(0, len(paths)-p.Max)] {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (p *Prompts) saveText(m *engine.Model, key promptcache.Key, text ranText, log *slog.Logger) (err error) {
	s, err := m.NewScopedSession(text.scope)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	n, err := s.Reuse(text.tokens[:min(len(text.tokens), m.Context())])
	if n = n / plan.PageRows * plan.PageRows; n == 0 || err != nil {
		return err
	}
	hash := sha256.New()
	_, _ = io.WriteString(hash, text.scope)                      // a hash never fails
	_ = binary.Write(hash, binary.LittleEndian, text.tokens[:n]) // a hash never fails
	path := filepath.Join(p.Dir, hex.EncodeToString(hash.Sum(nil)[:16])+extension)
	// Not the clients' context: the clients have disconnected.
	if err := s.SavePrompt(context.Background(), path, key, n); err != nil {
		return err
	}
	log.Info("prompt kept", "file", path, "tokens", n)
	return nil
}
