package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/load/bundles"
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

// TestMade: a model that no bundle fits runs with one command, which makes a bundle once.
func TestMade(t *testing.T) {
	compiler := filepath.Join(t.TempDir(), "mlagen")
	text := "#!/bin/sh\n" + compilerVariable + "=1 exec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(compiler, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	path := place(t, unseen, nil)
	run := func(args ...string) result {
		var out, err strings.Builder
		e := &env{in: strings.NewReader(""), out: &out, err: &err, bundles: generated.Bundles(), devices: devices, auto: autoDevices,
			maker: &bundles.Maker{Compiler: compiler, Folder: filepath.Join(filepath.Dir(path), "made")}}
		return result{e.main(args), out.String(), err.String()}
	}
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
