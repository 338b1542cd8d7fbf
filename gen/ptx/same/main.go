// Command same compares the PTX of all bundles with that of another commit, but for the
// names of things: symbols, labels and comments are no instructions. It says which
// bundles differ, for changes to the Metal source that are to be of names only.
//
//	go run ./gen/ptx/same REVISION
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"mla/gen/golang"
	"mla/gen/ptx"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./gen/ptx/same REVISION, in the root of the repository")
		os.Exit(2)
	}
	same, err := compare(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !same {
		os.Exit(3)
	}
}

// compare prints a line for each bundle that has PTX now and had some in the revision,
// wherever it lay.
func compare(revision string) (same bool, err error) {
	files, err := filepath.Glob("generated/*/*" + ptx.Extension)
	if err != nil {
		return false, err
	}
	tests, err := filepath.Glob("generated/*/" + golang.ReferenceFolder + "/*" + ptx.Extension)
	if err != nil {
		return false, err
	}
	then, err := bundles(revision)
	if err != nil {
		return false, err
	}
	same, compared := true, 0
	for _, file := range append(files, tests...) {
		name := strings.TrimSuffix(filepath.Base(file), ptx.Extension)
		before, err := unpacked(exec.Command("git", "cat-file", "blob", revision+":"+then[name]).Output())
		if then[name] == "" {
			fmt.Printf("%s: %s has none\n", name, revision)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s in %s: %w", name, revision, err)
		}
		after, err := unpacked(os.ReadFile(file))
		if err != nil {
			return false, fmt.Errorf("%s: %w", file, err)
		}
		report, equal := difference(before, after)
		fmt.Printf("%s: %s\n", name, report)
		same, compared = same && equal, compared+1
	}
	if compared == 0 {
		return false, fmt.Errorf("%s has the PTX of no bundle that has some now", revision)
	}
	return same, nil
}

// bundles are the paths of PTX files in a revision by the names of their bundles, which
// once were those of folders.
func bundles(revision string) (map[string]string, error) {
	list, err := exec.Command("git", "ls-tree", "-r", "--name-only", revision, "generated").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-tree %s: %w", revision, err)
	}
	paths := map[string]string{}
	for file := range strings.Lines(string(list)) {
		file = strings.TrimSuffix(file, "\n")
		name, isPTX := strings.CutSuffix(path.Base(file), ptx.Extension)
		if name == "kernels" {
			name = path.Base(path.Dir(file))
		}
		if isPTX {
			paths[name] = file
		}
	}
	return paths, nil
}

// unpacked is the text of a file that was read.
func unpacked(file []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return ptx.Text(file)
}

// difference says how two texts compare.
func difference(before, after string) (report string, equal bool) {
	a, b := normalise(before), normalise(after)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("differs at line %d without comments: %q is now %q", i+1, strings.TrimSpace(a[i]), strings.TrimSpace(b[i])), false
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines without comments are now %d", len(a), len(b)), false
	}
	return fmt.Sprintf("the same %d lines", len(a)), true
}
