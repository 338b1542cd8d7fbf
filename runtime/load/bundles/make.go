package bundles

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/plan/bundlefile"
	"mla/runtime/system/child"
)

// Maker runs the compiler, in a process of its own, to make bundle files, and keeps the files.
type Maker struct {
	Compiler string // path of mlagen; "": there is none
	Version  string // of this program
	Folder   string // where the files are kept; only the Maker and its user write to it
	// Note is called with a line about a file that was made.
	Note func(format string, a ...any)
}

// Compiler finds mlagen: next to this program, else in PATH; "": not found.
func Compiler() string {
	const name = "mlagen"
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside
		}
	}
	path, err := exec.LookPath(name)
	if err != nil { // also if it was found only in the working directory
		return ""
	}
	return path
}

const (
	makeLimit = 2 * time.Minute // for one bundle file; the largest takes some seconds
	mostMade  = 64              // bundle files that are kept; each has about 100 kB
)

// errNoCompiler says why no bundle is made.
var errNoCompiler = errors.New("mlarun does that by itself where mlagen lies beside it, or in a folder of PATH")

// Make returns the path of a bundle file for a model file, with activations f32 and act. It reuses a file
// that it made before for the same header of the model, program and compiler.
func (m *Maker) Make(ctx context.Context, file *gguf.File, act string) (path string, err error) {
	if m.Compiler == "" {
		return "", errNoCompiler
	}
	full := plan.ActNames[plan.ElemF32]
	acts, both := full, strings.Join(plan.ActNames, ",")
	if act != "" && act != full {
		acts = both
	}
	for _, kept := range []string{acts, both} { // a file with both types of activations serves one, too
		if path, err = m.path(file, kept); err != nil {
			return "", err
		}
		if _, err := bundlefile.Open(path); err == nil {
			now := time.Now()
			return path, os.Chtimes(path, now, now) // mark as used: prune removes the least recently used files
		}
	}
	if path, err = m.path(file, acts); err != nil {
		return "", err
	}
	if err := os.MkdirAll(m.Folder, 0o700); err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	took, err := m.compile(ctx, file, acts, path)
	if err != nil {
		return "", err
	}
	if m.Note != nil {
		m.Note("no bundle fits %s, so mlagen has made one in %.1f s: %s\n", filepath.Base(file.Path), took.Seconds(), path)
	}
	return path, m.prune(path)
}

// compile runs the compiler, which writes the file atomically, so that two concurrent runs do not conflict.
func (m *Maker) compile(ctx context.Context, file *gguf.File, acts, path string) (time.Duration, error) {
	model, err := filepath.Abs(file.Path)
	if err != nil {
		return 0, err
	}
	args := []string{"-gguf", model, "-o", path, "-act", acts}
	if pre, _, _ := file.String(gguf.PreKey); pre != "" {
		if _, err := gguf.PreTokenizer(pre); err == nil { // the pre-tokeniser may come from the user instead of the file
			args = append(args, "-pre", pre)
		}
	}
	o := child.Run(ctx, child.Command{Path: m.Compiler, Args: args, Limit: makeLimit})
	switch {
	case o.End == child.Done:
		return o.Elapsed, nil
	case o.End == child.Stopped && ctx.Err() != nil:
		return 0, ctx.Err()
	case o.End == child.Failed && strings.TrimSpace(o.Said) != "":
		return 0, errors.New(strings.TrimPrefix(strings.TrimSpace(o.Said), "mlagen: "))
	}
	return 0, fmt.Errorf("%s: %s: %s", m.Compiler, o.End, o.Reason)
}

// path is where a file is kept. Its name covers everything that the compiler's output depends on: the model's
// header without its vocabulary, the activations, this program, and the compiler.
func (m *Maker) path(file *gguf.File, acts string) (string, error) {
	compiler, err := os.Stat(m.Compiler)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, m.Version, m.Compiler, compiler.Size(), compiler.ModTime().UnixNano(), acts)
	for _, kv := range file.Meta {
		fmt.Fprintln(h, kv.Key, kv.Value) // of long lists, only the beginning is printed
	}
	for i := range file.Tensors {
		t := &file.Tensors[i]
		fmt.Fprintln(h, t.Name, uint32(t.Type), t.Dims)
	}
	key := fmt.Sprintf("%x", h.Sum(nil))[:16]
	return filepath.Join(m.Folder, safe(filepath.Base(gguf.Stem(file.Path)))+"-"+key+bundlefile.Suffix), nil
}

// safe replaces the characters of a name that are special to shells or terminals.
func safe(name string) string {
	const longest = 60
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name[:min(len(name), longest)], ".-")
}

// prune removes the least recently used files if there are too many, but never kept, which was just made.
func (m *Maker) prune(kept string) error {
	paths, err := filepath.Glob(filepath.Join(m.Folder, "*"+bundlefile.Suffix))
	if err != nil || len(paths) <= mostMade {
		return err
	}
	used := map[string]time.Time{}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			used[p] = info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Or(used[a].Compare(used[b]), cmp.Compare(a, b)) })
	for _, p := range paths[:len(paths)-mostMade] {
		if p == kept {
			continue
		}
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) { // another program has removed it
			return err
		}
	}
	return nil
}
