package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/hub/hubtest"
)

// TestHubLooks: what could not run is refused before it is loaded, and names that people paste
// are taken, after -m too.
func TestHubLooks(t *testing.T) {
	good, err := os.ReadFile(youtu)
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.Replace(string(good), "\x09\x00\x00\x00\x00\x00\x00\x00deepseek2", "\x09\x00\x00\x00\x00\x00\x00\x00llama4567", 1)
	server := hubtest.Serve(map[string][]byte{"m-Q4_0.gguf": good, "m-Q8_0.gguf": []byte(foreign)})
	defer server.Close()
	home := t.TempDir()
	t.Setenv("HF_HOME", home)
	t.Setenv("HF_ENDPOINT", server.URL)
	r := mlarun("", "greedy", "-hf", "u/r:Q8_0", "-tokens", prompt)
	if r.code != 1 || !strings.Contains(r.err, `"llama4567"`) || !strings.HasSuffix(r.err, "so it is not loaded\n") {
		t.Errorf("%+v", r)
	}
	if blobs, err := filepath.Glob(filepath.Join(home, "hub", "models--u--r", "blobs", "*")); err != nil || len(blobs) > 0 {
		t.Errorf("loaded %q, %v", blobs, err)
	}
	want := mlarun("", "greedy", "-quiet", "-model", youtu, "-tokens", prompt)
	for _, args := range []string{"-m u/r:Q4_0", "-hf hf.co/u/r:Q4_0", "-m https://huggingface.co/u/r/blob/main/m-Q4_0.gguf", "-hf https://huggingface.co/u/r/resolve/main/m-Q4_0.gguf?download=true"} {
		if got := mlarun("", append(strings.Fields("greedy -quiet -tokens "+prompt+" "+args), "-width", "1")...); got.code != 0 || got.out != want.out {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if r := mlarun("", "-m", "nowhere/x.gguf", "-p", "x"); r.code != 1 || !strings.Contains(r.err, "no such file") {
		t.Errorf("%+v", r)
	}
}

// TestLookMemory: weights that are larger than the memory are not loaded, but for -force, and
// for devices with a memory of their own.
func TestLookMemory(t *testing.T) {
	file, err := gguf.Open(youtu)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(file, &err)
	for _, c := range []struct {
		f    flags
		more int64
		want string
	}{
		{flags{inHost: true}, 1, "the weights alone take"},
		{flags{inHost: true}, -1, ""},
		{flags{inHost: true, force: true}, 1, ""},
		{flags{}, 1, ""},
	} {
		err := c.f.look(file, max(engine.Available()*2*(c.more+1)/2, 1))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
