package hub

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cacheWith is a cache with one repository: two commits, files as links to contents.
func cacheWith(t *testing.T, commits map[string]map[string]string) *Client {
	t.Helper()
	c := &Client{Cache: t.TempDir()}
	r := c.repo(Ref{User: "u", Repo: "r"})
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	for commit, files := range commits {
		for name, content := range files {
			f := file{path: name, size: int64(len(content)), etag: sum([]byte(content))}
			if err := os.WriteFile(r.blob(f.etag), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := r.link(commit, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

const older = "1123456789abcdef0123456789abcdef01234567"

// TestKept: complete models are listed once; what is no model, or not whole, is none.
func TestKept(t *testing.T) {
	c := cacheWith(t, map[string]map[string]string{
		commit: {"m-Q4_0.gguf": "four", "m-Q8_0-00001-of-00002.gguf": "first", "m-Q8_0-00002-of-00002.gguf": "second", "README.md": "text", "h-00001-of-00002.gguf": "half"},
		older:  {"m-Q4_0.gguf": "four"},
	})
	for _, dir := range []string{"models--odd", "models--..--x", "models--u--r--s", "datasets--u--r"} {
		if err := os.MkdirAll(filepath.Join(c.Cache, dir, "snapshots", commit), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list, err := c.Kept()
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if a, b := list[0], list[1]; a.Ref.Quant != "m-Q4_0.gguf" || a.Bytes != 4 || b.Ref.Quant != "m-Q8_0-00001-of-00002.gguf" || b.Bytes != 11 {
		t.Errorf("%+v", list)
	}
	if list, err := (&Client{Cache: filepath.Join(t.TempDir(), "none")}).Kept(); err != nil || len(list) > 0 {
		t.Errorf("no cache: %v, %v", list, err)
	}
}

// TestRemove: a model goes from all commits, with its contents, unless another name has them.
func TestRemove(t *testing.T) {
	make := func() *Client {
		return cacheWith(t, map[string]map[string]string{
			commit: {"m-Q4_0.gguf": "four", "copy-Q5_0.gguf": "shared", "m-Q8_0.gguf": "shared", "README.md": "text"},
			older:  {"m-Q4_0.gguf": "FOUR"},
		})
	}
	for _, tt := range []struct {
		ref   string
		freed int64
		left  string // models
		fails string
	}{
		{"u/r:Q4_0", 8, "copy-Q5_0.gguf m-Q8_0.gguf", ""},
		{"u/r:m-Q8_0.gguf", 0, "copy-Q5_0.gguf m-Q4_0.gguf", ""},
		{"u/r", 0, "copy-Q5_0.gguf m-Q4_0.gguf m-Q8_0.gguf", "the cache has 3 models of this repository; name one of them"},
		{"u/r:Q2_K", 0, "copy-Q5_0.gguf m-Q4_0.gguf m-Q8_0.gguf", "the cache has no such model"},
		{"u/other", 0, "copy-Q5_0.gguf m-Q4_0.gguf m-Q8_0.gguf", "the cache has no model of this repository"},
	} {
		c := make()
		ref, err := Parse(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		freed, err := c.Remove(context.Background(), ref)
		if freed != tt.freed || (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %d bytes, %v", tt.ref, freed, err)
		}
		list, err := c.Kept()
		var names []string
		for _, k := range list {
			names = append(names, k.Ref.Quant)
		}
		if got := strings.Join(names, " "); err != nil || got != tt.left {
			t.Errorf("%s: %s are left, %v; want %s", tt.ref, got, err, tt.left)
		}
		if _, err := os.ReadFile(filepath.Join(c.repo(Ref{User: "u", Repo: "r"}).snapshot(commit), "README.md")); err != nil {
			t.Error(err)
		}
	}
}

// TestRemoveForeign: a content that is no regular file stays.
func TestRemoveForeign(t *testing.T) {
	c := cacheWith(t, map[string]map[string]string{commit: {"m.gguf": "x"}})
	blob := c.repo(Ref{User: "u", Repo: "r"}).blob(sum([]byte("x")))
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.Rename(blob, mine); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, blob); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Remove(context.Background(), Ref{User: "u", Repo: "r"}); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}
