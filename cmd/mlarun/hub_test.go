package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/load/hub/hubtest"
)

// TestHub: -hf loads a model once; later runs need no hub, and what is not there is said.
func TestHub(t *testing.T) {
	data, err := os.ReadFile(youtu)
	if err != nil {
		t.Fatal(err)
	}
	server := hubtest.Serve(map[string][]byte{"m-Q4_0.gguf": data, "m-Q8_0.gguf": {1}})
	home := t.TempDir()
	t.Setenv("HF_HOME", home)
	t.Setenv("HF_ENDPOINT", server.URL)
	want := mlarun("", "greedy", "-quiet", "-model", youtu, "-tokens", prompt)
	got := mlarun("", "greedy", "-hf", "u/r:Q4_0", "-tokens", prompt)
	if got.code != 0 || got.out != want.out || !strings.Contains(got.err, "loaded hf://u/r:Q4_0") {
		t.Errorf("%+v; want %+v", got, want)
	}
	server.Close()
	if got := mlarun("", "greedy", "-quiet", "-model", "hf://u/r:Q4_0", "-tokens", prompt); got != want {
		t.Errorf("from the cache: %+v", got)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	for _, command := range []string{"inspect", "doctor -n 0 -t 1ns -device cpu"} {
		if got := mlarun("", append(strings.Fields(command), "-hf", "u/r:Q4_0")...); got.code != 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
	for args, want := range map[string]string{
		"-hf u/r:Q8_0 -p x":      "HF_HUB_OFFLINE forbids to load it",
		"-hf u -p x":             "is no model of the hub",
		"-model hf://../.. -p x": "is no model of the hub",
	} {
		if got := mlarun("", strings.Fields(args)...); got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v; want %q", args, got, want)
		}
	}
	if links, err := filepath.Glob(filepath.Join(home, "hub", "models--u--r", "snapshots", "*", "*")); err != nil || len(links) != 1 {
		t.Errorf("%v, %v", links, err)
	}
}
