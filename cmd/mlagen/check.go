package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"mla/gen/golang"
	"mla/gen/ptx"
)

// changes lists the files of t that differ on disk, and the generated files on disk that t does not have.
func (t *tree) changes() (changed []golang.File, orphans []string, err error) {
	for _, f := range t.files {
		if old, err := os.ReadFile(f.Name); err != nil || !bytes.Equal(old, f.Data) {
			changed = append(changed, f)
		}
	}
	orphans, err = t.orphans()
	return changed, orphans, err
}

// checkFiles implements -check. It returns an error that wraps errDrift and names the command to run, if a
// file on disk is out of date.
func (g *generateFlags) checkFiles(t *tree, stdout, notes io.Writer) error {
	changed, orphans, err := t.changes()
	if err != nil {
		return err
	}
	var lines []string
	for _, f := range changed {
		lines = append(lines, f.Name+" is out of date or missing")
	}
	for _, path := range orphans {
		lines = append(lines, path+" is not generated any more")
	}
	var commands []string
	if len(lines) > 0 {
		commands = append(commands, g.command())
	}
	if stale := t.stalePTX(); len(stale) > 0 {
		if missing := ptx.Compiler(); missing != nil {
			noteStale(notes, stale, missing)
		} else {
			lines = append(lines, stale...)
			commands = append(commands, t.mendPTX())
		}
	}
	if len(lines) == 0 {
		_, err = fmt.Fprintf(stdout, "%s: %d files, up to date\n", t.what(), len(t.files))
		return err
	}
	return fmt.Errorf("%w:\n  %s\nmend it with: %s", errDrift, strings.Join(lines, "\n  "), strings.Join(commands, " && "))
}

// noteStale reports PTX that is out of date, where clang is missing to compile it again. This is a note and
// no error: PTX that is out of date is never loaded, so everything else works.
func noteStale(w io.Writer, stale []string, missing error) {
	fmt.Fprintf(w, "%s\nNothing uses PTX that is out of date: NVIDIA GPUs lack these bundles, and other devices need no PTX.\n%v; then run make ptx\n",
		strings.Join(stale, "\n"), missing)
}

// stalePTX lists the bundles whose PTX was compiled from another source than mlagen generates now. A bundle
// without PTX is not listed.
func (t *tree) stalePTX() []string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(t.ptx)) {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := checkPTX(path, t.ptx[path]); err != nil {
			lines = append(lines, fmt.Sprintf("%s is out of date: %v", path, err))
		}
	}
	return lines
}

// mendPTX returns the command after which no PTX is out of date. PTX in generated/ is compiled again. PTX in
// a folder of the caller's is removed.
func (t *tree) mendPTX() string {
	if t.alone != nil {
		return "rm " + strings.Join(slices.Sorted(maps.Keys(t.ptx)), " ")
	}
	return "make ptx"
}

// command returns the command that writes the files which -check compared.
func (g *generateFlags) command() string {
	if g.all {
		return "go generate ./..."
	}
	cmd := "go run ./cmd/mlagen -spec " + g.spec
	if g.out != "" { // a folder of the caller's module
		cmd = "mlagen -spec " + g.spec + " -out " + g.out
	}
	if g.act != "" {
		cmd += " -act " + g.act
	}
	if g.class != "" {
		cmd += " -class " + g.class
	}
	if g.disable != "" {
		cmd += " -disable " + g.disable
	}
	return cmd
}

// printNames prints which files would be written and which removed.
func printNames(t *tree, stdout io.Writer) error {
	changed, orphans, err := t.changes()
	for _, f := range changed {
		fmt.Fprintf(stdout, "write %s (%d bytes)\n", f.Name, len(f.Data))
	}
	for _, path := range orphans {
		fmt.Fprintf(stdout, "remove %s\n", path)
	}
	return err
}

// printDiff prints what would change as unified diffs.
func printDiff(t *tree, stdout io.Writer) error {
	changed, orphans, err := t.changes()
	if err != nil {
		return err
	}
	for _, f := range changed {
		old, err := os.ReadFile(f.Name)
		from := f.Name
		if errors.Is(err, os.ErrNotExist) {
			from = os.DevNull
		} else if err != nil {
			return err
		}
		io.WriteString(stdout, udiff.Unified(from, f.Name, string(old), string(f.Data)))
	}
	for _, path := range orphans {
		fmt.Fprintf(stdout, "--- %s\n+++ %s\n", path, os.DevNull)
	}
	_, err = fmt.Fprintf(stdout, "%d files would be written, %d removed\n", len(changed), len(orphans))
	return err
}
