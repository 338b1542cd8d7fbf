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

// changes lists the differences between t and the disk.
func (t *tree) changes() (changed []golang.File, orphans []string, err error) {
	for _, f := range t.files {
		if old, err := os.ReadFile(f.Name); err != nil || !bytes.Equal(old, f.Data) {
			changed = append(changed, f)
		}
	}
	orphans, err = t.orphans()
	return changed, orphans, err
}

// checkFiles implements -check: it fails if files are out of date, with the command that mends them.
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

// noteStale says which missing compiler stale PTX needs. Nothing uses stale PTX, so everything else is as it
// should be.
func noteStale(w io.Writer, stale []string, missing error) {
	fmt.Fprintf(w, "%s\nNothing uses PTX that is out of date: NVIDIA GPUs lack these bundles, and other devices need no PTX.\n%v; then run make ptx\n",
		strings.Join(stale, "\n"), missing)
}

// stalePTX lists the bundles whose PTX was made from a source other than the one that mlagen generates now. A
// bundle may have no PTX.
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

// mendPTX returns the command that removes stale PTX: it compiles the PTX of the project's bundles, and
// deletes the PTX in a folder of the caller's.
func (t *tree) mendPTX() string {
	if t.alone != nil {
		return "rm " + strings.Join(slices.Sorted(maps.Keys(t.ptx)), " ")
	}
	return "make ptx"
}

// command returns the command line that writes the files that were checked.
func (g *generateFlags) command() string {
	if g.all {
		return "go generate ./..."
	}
	cmd := "go run ./cmd/mlagen -spec " + g.spec
	if g.out != "" { // the folder may be in any module
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

// printDiff prints the changes as unified diffs.
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
