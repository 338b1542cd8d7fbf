package promptcache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/system/recordfile"
)

const (
	layers   = 2
	rowBytes = 3
)

var key = Key{File: "f", Bundle: "b", Kernels: "k", KV: "f16", Layers: layers, Planes: plan.Planes{rowBytes - 2, 2}}

func tokens(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i * 7)
	}
	return out
}

// fill fills page i: all of its rows have bytes that are not zero.
func fill(i int, page []byte) error {
	for j := range page {
		page[j] = byte(1 + (i*31+j)%255)
	}
	return nil
}

func write(t testing.TB, path string, n int) {
	t.Helper()
	if err := Write(context.Background(), path, key, tokens(n), nil, fill); err != nil {
		t.Fatal(err)
	}
}

// TestRoundTrip checks that rows are read as they were written, and rows after the last token as zeros.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	for _, n := range []int{0, 1, plan.PageRows - 1, plan.PageRows, plan.PageRows + 1, 5 * plan.PageRows} {
		write(t, path, n)
		f, err := Open(path, key)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		err = f.Pages(context.Background(), 0, plan.Pages(n), func(i int, page []byte) error {
			seen++
			want := make([]byte, len(page))
			_ = fill(i, want)
			for j := range want {
				row := j % (plan.PageRows * rowBytes) // of the plane of single bytes
				if row >= plan.PageRows {
					row = (row - plan.PageRows) / 2
				}
				if i*plan.PageRows+row >= n {
					want[j] = 0
				}
			}
			if !bytes.Equal(page, want) {
				return fmt.Errorf("page %d differs", i)
			}
			return nil
		})
		if err := errors.Join(err, f.Close()); err != nil || seen != plan.Pages(n) || !slices.Equal(f.Tokens, tokens(n)) || f.PageBytes() != key.PageBytes() {
			t.Errorf("%d tokens: %d pages, %v", n, seen, err)
		}
	}
}

// TestForeign checks that a file of another model, bundle or cache type is refused with the reason.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	write(t, path, 70)
	for want, change := range map[string]func(*Key){
		"another model file":                               func(k *Key) { k.File = "g" },
		"it was made with bundle b; this is c":             func(k *Key) { k.Bundle = "c" },
		"(-draft mtp adds one)":                            func(k *Key) { k.Layers++ },
		"it has a cache of type f16; this is f32":          func(k *Key) { k.KV = "f32" },
		"it was made with other kernels of the bundle":     func(k *Key) { k.Kernels = "l" },
		"it was made with other kernels of the bundle\x00": func(k *Key) { k.Planes = plan.Planes{2, rowBytes - 2} },
	} {
		k := key
		change(&k)
		var damaged *recordfile.DamagedError
		if _, err := Open(path, k); !errors.As(err, &damaged) || !strings.Contains(err.Error(), strings.TrimSuffix(want, "\x00")) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestCheck checks that a path which cannot be written to is an error before a prompt is run.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "cache")
	if err := Check(path); err != nil {
		t.Error(err)
	}
	if write(t, path, 1); Check(path) != nil {
		t.Error(Check(path))
	}
	if err := os.WriteFile(path, []byte("GGUF of somebody"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{path: "is not a prompt cache; it is left as it is", filepath.Join(folder, "none", "x"): "no such file", folder: "is not a prompt cache"} {
		if err := Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// TestWriteFails checks that a file which cannot be completed is removed.
func TestWriteFails(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "cache")
	failed := errors.New("lost")
	ctx, cancel := context.WithCancel(context.Background())
	for what, tt := range map[string]struct {
		read func(int, []byte) error
		want error
	}{
		"device":    {func(i int, _ []byte) error { return map[int]error{2: failed}[i] }, failed},
		"cancelled": {func(int, []byte) error { cancel(); return nil }, context.Canceled},
	} {
		run := context.Background()
		if tt.want == context.Canceled {
			run = ctx
		}
		if err := Write(run, path, key, tokens(200), nil, tt.read); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, k := range []Key{{}, {Layers: 1}, {Layers: 0, Planes: plan.Planes{4}}, {Layers: 3, Planes: plan.Planes{4, 0}}} {
		if err := Write(context.Background(), path, k, nil, nil, fill); err == nil {
			t.Errorf("%+v: no error", k)
		}
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// FuzzOpen checks that a file with right checksums and any header is refused, or has as many pages as its
// tokens need.
func FuzzOpen(f *testing.F) {
	good, err := json.Marshal(header{key, plan.PageRows, tokens(70)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 2, key.PageBytes())
	f.Add([]byte(`{"tokens": [1e99]}`), 0, 0)
	f.Add([]byte(`{"tokens": null, "rows": 64}`), 1, 384)
	path := filepath.Join(f.TempDir(), "cache")
	f.Fuzz(func(t *testing.T, text []byte, records, recordBytes int) {
		if !json.Valid(text) || records < 0 || records > 100 || recordBytes < 0 || recordBytes > 1000 {
			return
		}
		w, err := recordfile.Create(path, kind, json.RawMessage(text), records, recordBytes)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		for range records {
			if err := w.Write(make([]byte, recordBytes)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		file, err := Open(path, key)
		if err != nil {
			return
		}
		defer file.Close()
		if file.PageBytes() != key.PageBytes() || plan.Pages(len(file.Tokens)) != records {
			t.Errorf("%d tokens in %d pages of %d bytes", len(file.Tokens), records, file.PageBytes())
		}
	})
}
