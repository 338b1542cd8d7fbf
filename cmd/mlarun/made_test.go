package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/load/bundles"
	"mla/runtime/load/hub/hubtest"
	"mla/runtime/plan/bundlefile"
)

// compilerVariable makes this test binary a stand-in for mlagen -gguf MODEL -o FILE.
const compilerVariable = "MLARUN_TEST_COMPILER"

func standInCompiles(args []string) {
	data, err := makeBundles(args[1], "made")
	if err == nil {
		err = bundlefile.Write(args[3], data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// withCompiler returns what runs a command with a compiler of its own, which makes bundles in a folder.
func withCompiler(t *testing.T, folder string) func(args ...string) result {
	t.Helper()
	compiler := filepath.Join(t.TempDir(), "mlagen")
	text := "#!/bin/sh\n" + compilerVariable + "=1 exec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(compiler, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) result {
		var out, err strings.Builder
		e := &env{in: strings.NewReader(""), out: &out, err: &err, bundles: generated.Bundles(), devices: devices, auto: autoDevices,
			maker: &bundles.Maker{Compiler: compiler, Folder: folder}}
		return result{e.main(args), out.String(), err.String()}
	}
}

// TestHubMade: from a repository to the first token in one command, for a model that no bundle fits.
func TestHubMade(t *testing.T) {
	data, err := os.ReadFile(unseen)
	if err != nil {
		t.Fatal(err)
	}
	server := hubtest.Serve(map[string][]byte{"m-Q4_0.gguf": data})
	defer server.Close()
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", server.URL)
	run := withCompiler(t, t.TempDir())
	r := run("greedy", "-device", "cpu", "-tokens", "3,40,200", "-n", "1", "-hf", "u/r")
	if r.code != 0 || r.out != "429\n" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"loaded hf://u/r", "so mlagen has made one in "} {
		if strings.Count(r.err, want) != 1 {
			t.Errorf("%q; want %q once", r.err, want)
		}
	}
}

// TestMade: a model that no bundle fits runs with one command, which makes a bundle once.
func TestMade(t *testing.T) {
	path := place(t, unseen, nil)
	run := withCompiler(t, filepath.Join(filepath.Dir(path), "made"))
	const said = "no bundle fits my.gguf, so mlagen has made one in "
	args := []string{"greedy", "-device", "cpu", "-tokens", "3,40,200", "-n", "2", "-model", path}
	if r := run("inspect", path); r.code != 0 || !strings.Contains(r.out, "which mlarun does by itself") || strings.Contains(r.err, said) {
		t.Errorf("%+v", r)
	}
	r := run(args...)
	if r.code != 0 || r.out != "429 317\n" || strings.Count(r.err, said) != 1 || strings.Contains(r.err, "closest bundle") {
		t.Errorf("%+v", r)
	}
	if r := run(args...); r.code != 0 || r.out != "429 317\n" || strings.Contains(r.err, said) {
		t.Errorf("the second time: %+v", r)
	}
	// The compiler has nothing to offer for a model that is refused.
	if r := run("greedy", "-device", "cpu", "-tokens", "3", "-model", references+"README.md"); r.code != 1 || strings.Contains(r.err, said) {
		t.Errorf("%+v", r)
	}
}
