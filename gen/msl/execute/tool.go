package execute

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"mla/sim"
)

// tools is the folder with sim/exec's sources and, built from them, the compiler
// mslc and the runners. It is kept in the user's cache under the sources' hash.
var tools = sync.OnceValues(func() (string, error) {
	hash, err := sourceHash()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "mla", "exec-"+hash)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := buildTools(tmp); err != nil {
		return "", err
	}
	// Another process may have been faster; its result is as good.
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, missing := os.Stat(dir); missing != nil {
			return "", err
		}
	}
	return dir, nil
})

func sourceHash() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(sim.Exec, "exec", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sim.Exec, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// buildTools extracts the sources into dir and compiles the programs.
func buildTools(dir string) error {
	if err := os.CopyFS(dir, sim.Exec); err != nil {
		return err
	}
	compiler, err := findCompiler()
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-O1", "-o", "mslc", "mslc.cpp", "build.cpp", "translate.cpp", "tokens.cpp"},
		{"-O1", "-o", "runner", "runner.cpp", "-ldl"},
		{"-O1", "-fsanitize=address,undefined", "-o", "runner-sanitize", "runner.cpp", "-ldl"},
	} {
		cmd := exec.Command(compiler, append([]string{"-std=c++20"}, args...)...)
		cmd.Dir = filepath.Join(dir, "exec")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", compiler, err, out)
		}
	}
	return nil
}

func findCompiler() (string, error) {
	for _, name := range []string{"clang++-19", "clang++"} {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("running kernels on the CPU needs clang: apt-get install clang-19")
}

// compile returns the path of a source's shared object, which it runs mslc for, in dir,
// unless the object is there already.
func compile(source, dir string, flags ...string) (string, error) {
	tools, err := tools()
	if err != nil {
		return "", err
	}
	object, err := objectPath(tools, source, flags)
	if err != nil {
		return "", err
	}
	runTime, err := objectPath(tools, "", nil) // all sources share it
	if err != nil {
		return "", err
	}
	now := time.Now()
	if os.Chtimes(object, now, now) == nil {
		return object, nil
	}
	_ = os.Chtimes(runTime, now, now) // the first makes it
	if err := makeRoom(filepath.Dir(object)); err != nil {
		return "", err
	}
	in, out := filepath.Join(dir, "in.metal"), object+"."+filepath.Base(dir)
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		return "", err
	}
	root := filepath.Join(tools, "exec")
	cmd := exec.Command(filepath.Join(root, "mslc"), append(flags, "-runtime", runTime, root, dir, in, out)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("compiling the Metal source: %w\n%s", err, problems.Bytes())
	}
	return object, os.Rename(out, object)
}

// objectPath is where the object of a source is kept for the next program, of this package
// or another one, that wants the same. It follows from the source, how it is compiled, by
// what, and, as mslc compiles for the machine it runs on, from that.
func objectPath(tools, source string, flags []string) (string, error) {
	target, err := target()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%s\n%s", flags, target, source)
	return filepath.Join(tools, "objects", hex.EncodeToString(h.Sum(nil))), nil
}

// target is what the compiler says of itself and of this machine.
var target = sync.OnceValues(func() (string, error) {
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(compiler, "-march=native", "-###", "-c", "-x", "c++", "-o", "none", os.DevNull)
	cmd.Dir = "/" // which it names
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return string(out), nil
})

// keptFor is how long an object is kept that nothing uses.
const keptFor = 24 * time.Hour

// makeRoom makes the folder of objects, or removes from it what has not been used for long.
func makeRoom(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			_ = os.Remove(filepath.Join(dir, e.Name())) // another process may have done it
		}
	}
	return nil
}
