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

	"mla/gen/golang"
)

// changes lists what differs between t and the disk.
func (t *tree) changes() (changed []golang.File, orphans []string, err error) {
	for _, f := range t.files {
		if old, err := os.ReadFile(f.Name); err != nil || !bytes.Equal(old, f.Data) {
			changed = append(changed, f)
		}
	}
	orphans, err = t.orphans()
	return changed, orphans, err
}

// checkFiles is -check: no drift, or an error that tells how to mend it.
func (g *generateFlags) checkFiles(t *tree) error {
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
		lines = append(lines, stale...)
		commands = append(commands, "make ptx")
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n  %s\nmend it with: %s", errDrift, strings.Join(lines, "\n  "), strings.Join(commands, " && "))
}

// stalePTX lists the bundles whose PTX was made from something else than what
// mlagen generates now. A bundle may be without.
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

// command is the call that writes what was checked.
func (g *generateFlags) command() string {
	if g.all {
		return "go generate ./..."
	}
	cmd := "go run ./cmd/mlagen -spec " + g.spec
	if g.out != "" {
		cmd += " -out " + g.out
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

// printDiff shows, per changed file, the lines between the common start and the
// common end of the old and the new text.
func printDiff(t *tree, stdout io.Writer) error {
	changed, orphans, err := t.changes()
	for _, f := range changed {
		old, _ := os.ReadFile(f.Name) // a missing file is all new
		fmt.Fprintf(stdout, "--- %s\n+++ %s\n", f.Name, f.Name)
		diffLines(stdout, lines(old), lines(f.Data))
	}
	for _, path := range orphans {
		fmt.Fprintf(stdout, "--- %s\n+++ /dev/null\n", path)
	}
	return err
}

func lines(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func diffLines(w io.Writer, old, new []string) {
	start := 0
	for start < len(old) && start < len(new) && old[start] == new[start] {
		start++
	}
	end := 0
	for end < len(old)-start && end < len(new)-start && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	fmt.Fprintf(w, "@@ -%d,%d +%d,%d @@\n", start+1, len(old)-end-start, start+1, len(new)-end-start)
	for _, l := range old[start : len(old)-end] {
		fmt.Fprintf(w, "-%s\n", l)
	}
	for _, l := range new[start : len(new)-end] {
		fmt.Fprintf(w, "+%s\n", l)
	}
}
