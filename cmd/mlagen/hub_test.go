package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/load/hub/hubtest"
	"mla/runtime/plan/bundlefile"
)

// TestHub: the bundle file of a model of the hub goes to the user's folder, not into the
// hub's cache; the model is loaded once.
func TestHub(t *testing.T) {
	data, err := os.ReadFile(unseen + "plm-mini-Q4_K_M.gguf")
	if err != nil {
		t.Fatal(err)
	}
	server := hubtest.Serve(map[string][]byte{"plm-Q4_K_M.gguf": data})
	home := t.TempDir()
	for name, value := range map[string]string{"HF_HOME": home, "HF_ENDPOINT": server.URL, "XDG_CACHE_HOME": filepath.Join(home, "cache")} {
		t.Setenv(name, value)
	}
	folder, err := bundlefile.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"-gguf hf://u/r", exitOK, "wrote " + filepath.Join(folder, "plm-Q4_K_M.mla")},
		{"-gguf hf://u/r:Q4_K_M -o " + filepath.Join(home, "x.mla"), exitOK, "wrote " + filepath.Join(home, "x.mla")},
		{"init -gguf hf://u/r -o " + filepath.Join(home, "x.yaml"), exitOK, "x.yaml"},
		{"-gguf hf://u", exitUsage, "is no model of the hub"},
		{"-gguf hf://u/r:Q4_K_M -o x", exitUsage, "-o is"},
	} {
		code, stdout, stderr := mlagen(strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("%s: exit %d\n%s%s", tt.args, code, stdout, stderr)
		}
		if tt.code == exitOK {
			server.Close() // the first has loaded it
		}
	}
	// What mlarun advises for a model there is its path in the cache.
	models, err := filepath.Glob(filepath.Join(home, "hub", "*", "snapshots", "*", "*.gguf"))
	if err != nil || len(models) != 1 {
		t.Fatalf("%v, %v", models, err)
	}
	if code, stdout, stderr := mlagen("-gguf", models[0]); code != exitOK || !strings.Contains(stdout, "wrote "+filepath.Join(folder, "plm-Q4_K_M.mla")) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if wrong, err := filepath.Glob(filepath.Join(home, "hub", "*", "snapshots", "*", "*.mla")); err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}
