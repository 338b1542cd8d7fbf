package engine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/engine/paging"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// PromptKey is everything that a prompt cache of this engine's model depends on, with caches of type kv.
func (e *Engine) PromptKey(m *Model, kv quant.Type) (promptcache.Key, error) {
	file, err := e.FileKey()
	if err != nil {
		return promptcache.Key{}, err
	}
	planes, err := e.bundle.Model.CachePlanes(kv)
	if err != nil {
		return promptcache.Key{}, err
	}
	k := newKey()
	k.add([]byte(e.bundle.SpecHash))
	k.add([]byte(e.bundle.SourceSum()))
	return promptcache.Key{File: file, Bundle: e.bundle.Name, Kernels: hex.EncodeToString(k.Sum(nil)), KV: kv.String(),
		Layers: len(e.bundle.Model.CacheLayers()) + len(m.runners()) - 1, Planes: planes, State: m.StateBytes()}, nil
}

// Savable is how many of the timeline's first n tokens SavePrompt can write: all, or for a model with states,
// those up to the deepest saved state.
func (s *Session) Savable(n int) int { return s.resumable(n) }

// SavePrompt writes the cache rows of the timeline's first n tokens to a file, atomically.
func (s *Session) SavePrompt(ctx context.Context, path string, k promptcache.Key, n int) error {
	switch err := s.usable(); {
	case err != nil:
		return err
	case n < 0 || n > len(s.tokens):
		return fmt.Errorf("%d tokens of a timeline of %d", n, len(s.tokens))
	case s.pretends:
		return errors.New("the pages do not hold the rows of the timeline")
	case k.PageBytes() != s.model.pageBytes():
		return errOtherPages
	}
	state, err := s.stateAfter(n)
	if err != nil {
		return err
	}
	k.Scope = s.scope
	return promptcache.Write(ctx, path, k, s.tokens[:n], state, func(i int, page []byte) error {
		return s.model.page(device.Runner.ReadPage, s.pages.Table()[i], page)
	})
}

// Restore makes the timeline the beginning of a prompt, from a file, or from the timeline and the model's
// pages if those have more of it. At least the prompt's last token is left to be run. It returns the number
// of rows from the file. After an error of the file, such as a wrong checksum, the timeline has the valid
// rows before it.
func (s *Session) Restore(ctx context.Context, f *promptcache.File, prompt []int32) (restored int, err error) {
	if err := s.allows(prompt); err != nil {
		return 0, err
	}
	if f.PageBytes() != s.model.pageBytes() {
		return 0, errOtherPages
	}
	if f.Scope != s.scope {
		return 0, errOtherScope
	}
	n := min(paging.CommonPrefix(f.Tokens, prompt), len(prompt)-1)
	keep := s.resumable(paging.CommonPrefix(s.tokens, prompt))
	if s.pretends || n <= keep || s.model.stateful() && n < len(f.Tokens) { // the file has only the state after all of its tokens
		return 0, nil
	}
	if err := s.rewind(keep); err != nil {
		return 0, err
	}
	if _, err := s.Reuse(prompt[keep:]); err != nil {
		return 0, err
	}
	keep = len(s.tokens)
	if n <= keep {
		return 0, nil
	}
	if err := s.Reserve(n - keep); err != nil {
		return 0, err
	}
	err = f.Pages(ctx, keep/plan.PageRows, plan.Pages(n), func(i int, page []byte) error {
		if err := s.model.page(device.Runner.WritePage, s.pages.Table()[i], page); err != nil {
			return err
		}
		return s.add(prompt[len(s.tokens):min((i+1)*plan.PageRows, n)]...)
	})
	if s.model.stateful() {
		err = s.restoreState(ctx, f, keep, err)
	}
	return len(s.tokens) - keep, err
}

// pageBytes is the size of a page over all layers, the MTP layer included.
func (m *Model) pageBytes() (n int) {
	for _, r := range m.runners() {
		n += r.PageBytes()
	}
	return n
}

// page copies a page of all layers from or to the host.
func (m *Model) page(copies func(device.Runner, uint32, []byte) error, page uint32, host []byte) error {
	for _, r := range m.runners() {
		n := r.PageBytes()
		if err := copies(r, page, host[:n]); err != nil {
			return m.fail(err)
		}
		host = host[n:]
	}
	return nil
}

var errOtherScope = errors.New("the prompt cache is of a request that shared its pages with others than this session does")

var errOtherPages = errors.New("the prompt cache is for pages of another size than the model's")
