package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/engine/paging"
	"mla/runtime/engine/promptcache"
	"mla/runtime/system/recordfile"
)

// kept is the file of -prompt-cache during a run; nil without the flag.
type kept struct {
	model  *loaded
	path   string
	key    promptcache.Key
	file   *promptcache.File // nil: there is no file, or it has been read
	has    []int32           // tokens whose rows are in the file
	prompt []int32           // the last prompt that was run completely
}

// openCache opens the file. An unusable file counts as missing, but another user's file is an error.
func (s *settings) openCache(m *loaded) (*kept, error) {
	if s.promptCache == "" {
		return nil, nil
	}
	cfg, err := s.config(1)
	if err != nil {
		return nil, err
	}
	k := &kept{model: m, path: s.promptCache}
	if k.key, err = m.engine.PromptKey(m.model, cfg.KV); err != nil {
		return nil, err
	}
	k.file, err = promptcache.Open(k.path, k.key)
	switch {
	case err == nil:
		k.has = k.file.Tokens
	case errors.Is(err, fs.ErrNotExist):
	case !k.refused(err):
		return nil, err
	}
	return k, nil
}

// refused returns why the file is unusable, if an error says so.
func (k *kept) refused(err error) bool {
	var damaged *recordfile.DamagedError
	if !errors.As(err, &damaged) {
		return false
	}
	k.has = nil
	k.model.flags.note("prompt cache %v; it is made anew\n", err)
	return true
}

// restore reads the beginning of the first prompt from the file, and returns how long that took. Later
// prompts continue from the session's timeline.
func (k *kept) restore(ctx context.Context, prompt []int32) (took time.Duration, err error) {
	if k == nil || k.file == nil {
		return 0, nil
	}
	start := time.Now()
	n, err := k.model.Restore(ctx, k.file, prompt)
	took = time.Since(start)
	if k.refused(err) {
		err = nil
	}
	if n > 0 {
		k.model.flags.note("prompt cache: %d tokens restored in %s\n", n, seconds(took))
	}
	return took, errors.Join(err, k.close())
}

func (k *kept) close() error {
	if k == nil || k.file == nil {
		return nil
	}
	f := k.file
	k.file = nil
	return f.Close()
}

// ran records a prompt if it was run completely.
func (k *kept) ran(prompt []int32) {
	if k != nil && paging.CommonPrefix(k.model.Tokens(), prompt) == len(prompt) {
		k.prompt = slices.Clone(prompt)
	}
}

// worth is the fraction of a prompt that must be missing in the file for the file to be rewritten: running
// less again takes no longer than writing the whole prompt each time.
const worth = 1. / 8

// save writes the last prompt if much of it is missing in the file.
func (k *kept) save() (err error) {
	if k == nil {
		return nil
	}
	defer closing(closer(k.close), &err)
	n := k.model.Savable(min(len(k.prompt), paging.CommonPrefix(k.model.Tokens(), k.prompt)))
	if lacks := n - paging.CommonPrefix(k.has, k.prompt[:n]); float64(lacks) <= worth*float64(n) {
		return nil
	}
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	if err := k.model.SavePrompt(ctx, k.path, k.key, n); err != nil {
		return fmt.Errorf("prompt cache: %w", err)
	}
	info, err := os.Stat(k.path)
	if err == nil {
		k.model.flags.note("prompt cache: %d tokens, %s, written in %s\n", n, engine.Size(info.Size()), seconds(time.Since(start)))
	}
	return err
}

type closer func() error

func (c closer) Close() error { return c() }
