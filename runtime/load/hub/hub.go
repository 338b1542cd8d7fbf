// Package hub downloads model files from the Hugging Face hub, or from a mirror, into the cache that the
// hub's own tools use, and finds them in it.
//
// Names in a repository and the server's responses are untrusted. Names cannot leave the cache, sizes and
// checksums are compared with the hub's listing, and a file gets its name in the cache only after its
// checksum was found right. A broken download is resumed by the next attempt or the next run.
//
// The layout of the cache is that of https://huggingface.co/docs/hub/local-cache. No Go library was found
// that resumes downloads, compares checksums and follows that layout.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"mla/runtime/gguf"
)

// Client knows the hub's address and the cache. FromEnv makes one.
type Client struct {
	Endpoint string // URL of the hub, without a slash at the end
	Cache    string // folder
	Token    string // of the user; "": none
	Offline  bool   // never use the network
	HTTP     *http.Client

	// Stall is how long a server may send nothing.
	Stall time.Duration
	// Pause is the first pause between two attempts; each further one is twice as long.
	Pause time.Duration

	// Look is called with the header of a model that is about to be downloaded, without data of tensors, and
	// with the model's size in bytes. If it returns an error, the model is not downloaded. nil: every model
	// is.
	Look func(header *gguf.File, bytes int64) error
	// Note is called with a line about anything that takes long or is tried again.
	Note func(line string)
	// Progress is called often during a download, with the bytes of all files of the model.
	Progress func(done, total int64)
}

// Model returns the path of a model file in the cache; of a split model, that of the first part. A model that
// the cache has is used without access to the network. Otherwise it is downloaded, unless the client is
// offline.
func (c *Client) Model(ctx context.Context, r Ref) (string, error) {
	path, err := c.repo(r).find(r)
	if err == nil {
		return path, nil
	}
	if c.Offline {
		return "", fmt.Errorf("%s is not in the cache %s (%w), and %s forbids to load it", r, c.Cache, err, offlineVariable)
	}
	path, err = c.load(ctx, r)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r, err)
	}
	return path, nil
}

// load downloads all parts of a model into the cache.
func (c *Client) load(ctx context.Context, r Ref) (string, error) {
	list, err := c.list(ctx, r)
	if err != nil {
		return "", err
	}
	m, err := choose(list.files, r.Quant)
	if err != nil {
		return "", err
	}
	repo := c.repo(r)
	if err := repo.prepare(); err != nil {
		return "", err
	}
	t := &tally{report: c.Progress}
	lacking := int64(0)
	for _, f := range m.files {
		t.total += f.size
		lacking += f.size - repo.part(f)
	}
	if err := repo.fitsDisk(lacking); err != nil {
		return "", err
	}
	if err := c.look(ctx, r, list.commit, m, t.total); err != nil {
		return "", err
	}
	for _, f := range m.files {
		if err := c.bring(ctx, r, repo, list.commit, f, t); err != nil {
			return "", fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := repo.publish(list); err != nil {
		return "", err
	}
	return repo.path(list.commit, m.files[0].path), nil
}

// bring downloads one file, unless the cache has its content, for instance from another commit.
func (c *Client) bring(ctx context.Context, r Ref, repo repo, commit string, f file, t *tally) (err error) {
	if repo.has(f) {
		t.add(f.size)
		return nil
	}
	unlock, err := repo.lock(ctx, f.etag, c.note)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if repo.has(f) { // another process has downloaded it meanwhile
		t.add(f.size)
		return nil
	}
	return c.fetch(ctx, f, c.contentURL(r, commit, f.path), repo.blob(f.etag), t)
}

// tally counts the bytes of all files of a model.
type tally struct {
	done, total int64
	report      func(done, total int64)
}

// add counts bytes. A negative number subtracts bytes that must be downloaded again.
func (t *tally) add(n int64) {
	t.done += n
	if t.report != nil {
		t.report(t.done, t.total)
	}
}

func (c *Client) note(format string, args ...any) {
	if c.Note != nil {
		c.Note(fmt.Sprintf(format, args...))
	}
}

// repo is the folder of a repository in the cache.
func (c *Client) repo(r Ref) repo {
	name := "models--" + r.User + "--" + r.Repo
	return repo{dir: filepath.Join(c.Cache, name), locks: filepath.Join(c.Cache, ".locks", name)}
}
