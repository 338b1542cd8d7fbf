package bundles_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan/bundlefile"
)

// script is a program that stands in for the compiler.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mlagen")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// copying is a compiler that hands out a bundle file that is ready, in one step, and counts.
func copying(t *testing.T) (compiler, count string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "made.mla"), nil)
	count = filepath.Join(dir, "count")
	return script(t, fmt.Sprintf(`echo "$*" >> %s; cp %s/made.mla "$4.$$" && mv "$4.$$" "$4"`, count, dir)), count
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestMake: a bundle file is made once for a header, and again if the header, the activations
// or the compiler are others, or the file was damaged.
func TestMake(t *testing.T) {
	_, file := place(t)
	compiler, count := copying(t)
	notes := 0
	m := &bundles.Maker{Compiler: compiler, Version: "1", Folder: filepath.Join(t.TempDir(), "made"), Note: func(string, ...any) { notes++ }}
	make := func(act string) string {
		t.Helper()
		path, err := m.Make(t.Context(), file, act)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := bundlefile.Open(path); err != nil || f.Bundles[0].Name != "made" {
			t.Fatalf("%v", err)
		}
		return path
	}
	first := make("")
	if again := make(""); again != first || len(lines(t, count)) != 1 || notes != 1 {
		t.Errorf("%s, %s, %q, %d notes", first, again, lines(t, count), notes)
	}
	if got, want := lines(t, count)[0], "-gguf "+file.Path+" -o "+first+" -act f32 -pre glm4"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if info, err := os.Stat(m.Folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	halves := make("f16")
	if got := lines(t, count)[1]; halves == first || !strings.Contains(got, "-act f32,f16") {
		t.Errorf("%s: %q", halves, got)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if both := make("f32"); both != halves || len(lines(t, count)) != 2 {
		t.Errorf("a file with both activations is not taken: %s", both)
	}
	if err := os.Remove(halves); err != nil {
		t.Fatal(err)
	}
	file.Set(gguf.PreKey, gguf.String("youtu"))
	m.Version = "2"
	if other := make(""); other == first || !strings.Contains(lines(t, count)[2], "-pre youtu") {
		t.Errorf("%s: %q", other, lines(t, count))
	}
	if err := os.WriteFile(first, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	file.Set(gguf.PreKey, gguf.String("glm4"))
	m.Version = "1"
	if again := make(""); again != first || len(lines(t, count)) != 4 {
		t.Errorf("a damaged file: %s, %q", again, lines(t, count))
	}
}

// TestMakeTogether: programs that make the same file at a time do not meet, and leave nothing.
func TestMakeTogether(t *testing.T) {
	_, file := place(t)
	compiler, _ := copying(t)
	m := &bundles.Maker{Compiler: compiler, Folder: t.TempDir()}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			path, err := m.Make(t.Context(), file, "")
			if err == nil {
				_, err = bundlefile.Open(path)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if names, err := filepath.Glob(filepath.Join(m.Folder, "*")); err != nil || len(names) != 1 {
		t.Errorf("%q, %v", names, err)
	}
}

// TestMakeKeepsFew: the files that were not used for longest go.
func TestMakeKeepsFew(t *testing.T) {
	_, file := place(t)
	compiler, _ := copying(t)
	m := &bundles.Maker{Compiler: compiler, Folder: t.TempDir()}
	for i := range 70 {
		path := filepath.Join(m.Folder, fmt.Sprintf("%02d.mla", i))
		at := time.Unix(int64(1_000_000+i), 0)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	path, err := m.Make(t.Context(), file, "")
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(m.Folder, "*.mla"))
	if err != nil || len(left) != 64 || filepath.Base(left[0]) != "07.mla" {
		t.Errorf("%d left, %v: %q", len(left), err, left)
	}
	if _, err := bundlefile.Open(path); err != nil {
		t.Error(err)
	}
}

// TestMakeFails: what the compiler says is the error, and its silence is told as well.
func TestMakeFails(t *testing.T) {
	_, file := place(t)
	gone, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []struct {
		ctx            context.Context
		compiler, want string
	}{
		{t.Context(), "", "where mlagen lies beside it, or in a folder of PATH"},
		{t.Context(), script(t, `echo "mlagen: my.gguf: no luck" >&2; exit 1`), "my.gguf: no luck"},
		{t.Context(), script(t, `kill -9 $$`), "crashed: killed: killed"},
		{t.Context(), "/nowhere/mlagen", "no such file"},
		{gone, script(t, `sleep 5`), "context canceled"},
	} {
		m := &bundles.Maker{Compiler: c.compiler, Folder: t.TempDir()}
		f := &bundles.Finder{Make: func(file *gguf.File, act string) (string, error) { return m.Make(c.ctx, file, act) }}
		_, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "no bundle fits") {
			t.Errorf("%v; want %s", err, c.want)
		}
		if names, _ := filepath.Glob(filepath.Join(m.Folder, "*")); len(names) > 0 {
			t.Errorf("%s: left %q", c.want, names)
		}
	}
}

// TestFinderMakes: what was made is chosen from, and nothing is made for a bundle by name.
func TestFinderMakes(t *testing.T) {
	_, file := place(t)
	compiler, count := copying(t)
	m := &bundles.Maker{Compiler: compiler, Folder: t.TempDir()}
	f := &bundles.Finder{Make: func(file *gguf.File, act string) (string, error) { return m.Make(t.Context(), file, act) }}
	b, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{})
	if err != nil || b.Name != "made" || f.FileOf(b) == nil {
		t.Errorf("%v, %v", b, err)
	}
	if _, err := f.Choose(file.Path, bind.Resolve(file), bind.Wish{Bundle: "other"}); err == nil || len(lines(t, count)) != 1 {
		t.Errorf("%v", err)
	}
}
