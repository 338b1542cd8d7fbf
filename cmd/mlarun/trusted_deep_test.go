//go:build deep

package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestTrustWrong has a command buffer of the test fail, without a crash. The model's
// third fails too: it goes on with the GPU opened anew.
func TestTrustWrong(t *testing.T) {
	r := newTrustRig(t)
	got := process(t, []string{"METALSIM_FAULT=replay:3", "METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + r.cache},
		append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", r.lib)...)
	if got.code != exitOK || got.out != r.want || !strings.Contains(got.err, takesEncode) || !strings.Contains(got.err, "failed: indirect command buffer: the GPU's commands: injected failure") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if _, text := r.verdict(t); !strings.Contains(text, "injected failure") {
		t.Error(text)
	}
}

// TestTrustFile has something else where the verdict should be, or cannot have it.
func TestTrustFile(t *testing.T) {
	r := newTrustRig(t)
	r.run(t, 1, nil)
	path, good := r.verdict(t)
	for name, text := range map[string]string{"empty": "", "truncated": good[:len(good)/2], "foreign": strings.Replace(good, "Apple M3", "Apple M9", 1), "huge": good + strings.Repeat("\n", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.run(t, 1, nil)
		if _, text := r.verdict(t); text != good {
			t.Errorf("%s: written anew: %s", name, text)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.run(t, 1, nil) // not kept, so tried every time
	}
	r.cache = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(r.cache, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.run(t, 1, nil)
	if said := r.run(t, 1, []string{crashes}); !strings.Contains(said, takesEncode) || strings.Contains(said, "without the file") {
		t.Error(said)
	}
}

// TestTrustGone: without a second process there is no test. That says nothing about
// the GPU, and is not kept.
func TestTrustGone(t *testing.T) {
	r := newTrustRig(t)
	said := r.run(t, 1, []string{goneVariable + "=1"})
	if !strings.Contains(said, takesEncode) || !strings.Contains(said, "no such file") || strings.Contains(said, "without the file") {
		t.Error(said)
	}
	if said := r.run(t, 1, nil); strings.Contains(said, takesEncode) {
		t.Error(said)
	}
}

// TestTrustTogether starts several at once.
func TestTrustTogether(t *testing.T) {
	r := newTrustRig(t)
	r.run(t, 1, nil) // for the kernels
	path, good := r.verdict(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			got := process(t, []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + r.cache, childrenVariable + "=" + r.children},
				append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", r.lib)...)
			if got.code != exitOK || got.out != r.want || strings.Contains(got.err, takesEncode) {
				t.Errorf("exit code %d, %q\n%s", got.code, got.out, got.err)
			}
		})
	}
	all.Wait()
	if _, text := r.verdict(t); text != good {
		t.Error(text)
	}
}
