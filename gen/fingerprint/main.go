// Command fingerprint prints hashes of what each bundle compiles to: its plan, the Metal text that a device
// compiles, the C++ text that clang compiles, and its PTX. They show that a clean-up of the compiler or the
// templates has not changed the result.
//
//	go run ./gen/fingerprint             # prints what specs/fingerprints.txt should be
//	go run ./gen/fingerprint -update     # writes it
//	go run ./gen/fingerprint -ptx        # with the PTX compiled anew where it is not in generated/
//	go run ./gen/fingerprint -functions tinyglm > before.txt   # a hash for each kernel function
//
// With names of bundles, it prints only these. No hash depends on comments, empty lines or white space.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mla/runtime/system/atomicfile"
)

// path is the place of the table in the repository.
var path = filepath.Join("specs", "fingerprints.txt")

func main() {
	compile := flag.Bool("ptx", false, "compile PTX that is not in generated/; needs clang-19, and many minutes for all bundles")
	functions := flag.Bool("functions", false, "print a fingerprint of each kernel function too")
	update := flag.Bool("update", false, "write "+path)
	flag.Parse()
	if *update && *functions {
		fmt.Fprintln(os.Stderr, "fingerprint: -functions prints more than the file has; leave out -update")
		os.Exit(2)
	}
	if err := run(".", flag.Args(), *compile, *functions, *update, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fingerprint:", err)
		os.Exit(1)
	}
}

// run prints the table of the named bundles, or of all if none is named, or updates the file.
func run(root string, bundles []string, compile, functions, update bool, out io.Writer) error {
	p, err := open(root)
	if err != nil {
		return err
	}
	old, err := load(root)
	if err != nil && !(update && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	p.compile, p.functions = func(string) bool { return compile }, functions
	all := p.names()
	if err := p.only(bundles); err != nil {
		return err
	}
	now, err := p.table()
	if err != nil {
		return err
	}
	if !update {
		_, err = io.WriteString(out, now.over(old, p.names()).String())
		return err
	}
	return atomicfile.Write(filepath.Join(root, path), []byte(now.over(old, all).String()))
}

// load reads the table of the repository.
func load(root string) (table, error) {
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, fmt.Errorf("%w; make it with: go run ./gen/fingerprint -update", err)
	}
	t, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
