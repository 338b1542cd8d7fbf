package execute

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mla/gen/objects"
	"mla/sim"
)

// tools returns a folder with the sources of sim/exec and the runners built from them. It lies beside the
// cached objects, and its name has the hash of the sources.
var tools = sync.OnceValues(func() (string, error) {
	hash, err := sourceHash()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(objects.Folder(), "exec-"+hash)
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err == nil {
		return dir, nil
	}
	work, err := objects.NewWork()
	if err != nil {
		return "", err
	}
	defer work.Close()
	if err := buildTools(work.Path); err != nil {
		return "", err
	}
	removeUnused(filepath.Dir(dir))
	// Another process may have built the same folder first.
	if err := os.Rename(work.Path, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, missing := os.Stat(dir); missing != nil {
			return "", err
		}
	}
	return dir, nil
})

// removeUnused removes runners, built from other sources, that nothing has used for a week.
func removeUnused(folder string) {
	list, _ := filepath.Glob(filepath.Join(folder, "exec-*")) // the pattern is valid
	for _, path := range list {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(path) // another process may have removed it
		}
	}
}

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
	sources, err := fs.Glob(os.DirFS(filepath.Join(dir, "exec")), "*.cpp")
	if err != nil {
		return err
	}
	sources = slices.DeleteFunc(sources, func(name string) bool { return name == "runner.cpp" })
	for _, args := range [][]string{
		append([]string{"-r", "-nostdlib", "-o", "../exec.o"}, sources...),
		{"-o", "../runner", "runner.cpp", "../exec.o", "-ldl", "-pthread"},
		{"-fsanitize=address,undefined", "-o", "../runner-sanitize", "runner.cpp", "../exec.o", "-ldl", "-pthread"},
	} {
		cmd := exec.Command(compiler, append([]string{"-std=c++20", "-O1"}, args...)...)
		cmd.Dir = filepath.Join(dir, "exec") // outputs go elsewhere, because the hash is over this folder
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", compiler, err, out)
		}
	}
	return nil
}

func findCompiler() (string, error) {
	for _, name := range []string{"clang++-19", "/opt/homebrew/opt/llvm@19/bin/clang++", "/opt/homebrew/opt/llvm/bin/clang++", "/usr/local/opt/llvm/bin/clang++", "clang++"} {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("running kernels on the CPU needs clang: apt-get install clang-19")
}
