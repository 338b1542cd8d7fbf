// Package bundlefile keeps the bundles of one model in a file, NAME.mla, so that a program
// can run a model that it was not built for. docs/bundle-format.md describes the file: a
// zip archive whose first entry lists all others with their sizes and sha256.
//
// A bundle file is untrusted input. Reading one never panics, never allocates more than
// some hundred megabytes, and returns only bundles that package verify has found nothing
// wrong with. What that does and does not protect from is said there.
package bundlefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// Suffix ends the names of bundle files.
const Suffix = ".mla"

// Version is the version of the format, and of what plans and kernels mean to devices. It
// goes up when old files would be read wrongly; what planjson.Schema sees needs no new
// version.
const Version = 2

// File is what a bundle file holds.
type File struct {
	Path    string            // that it was read from
	Spec    []byte            // the YAML text that the bundles were compiled from
	Bundles []*plan.Bundle    // of one spec; with their sources
	PTX     map[string][]byte // by name of a bundle: PTX, compressed; see package ptxfile
	Metal   map[string][]byte // by name of a bundle: a library that Apple's compiler made
}

// The entries of the archive. Kernels, PTX and libraries are named after a bundle: kernels
// after the first one that has them.
const (
	manifestEntry = "mla.json"
	specEntry     = "spec.yaml"
	planEntry     = "plan.json"
)

// group is a folder of the archive with a file for some bundles, each of a given number of bytes at most.
type group struct {
	prefix, suffix string
	most           uint64
}

var (
	kernels   = group{"kernels/", ".metal", 1 << 24}
	ptxs      = group{"ptx/", ptxfile.Extension, 1 << 25}
	libraries = group{"metallib/", ".metallib", 1 << 27}
)

// mostBytes is how large an entry may be. What has no place in the file has no bytes.
func mostBytes(name string) uint64 {
	switch name {
	case manifestEntry, specEntry:
		return 1 << 20
	case planEntry:
		return maxPlan
	}
	for _, g := range []group{kernels, ptxs, libraries} {
		if _, ok := g.bundle(name); ok {
			return g.most
		}
	}
	return 0
}

func (g group) entry(bundle string) string { return g.prefix + bundle + g.suffix }

// bundle is the name that an entry of the group is for.
func (g group) bundle(entry string) (string, bool) {
	rest, is := strings.CutPrefix(entry, g.prefix)
	name, ends := strings.CutSuffix(rest, g.suffix)
	return name, is && ends
}

// The limits on a file, far above what any model has.
const (
	maxFile    = 1 << 28 // bytes, packed and unpacked
	maxEntries = 64
	maxPlan    = 1 << 26 // bytes of plan.json; mostBytes has those of the others
	maxBundles = 16
)

// Beside is the bundle file that belongs to a model file: of the same name, in the same
// folder. All parts of a split model have one.
func Beside(model string) string { return gguf.Stem(model) + Suffix }

// Folder is where a user's own bundle files are, in the user's cache: they can be made
// again.
func Folder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for bundle files: %w", err)
	}
	return filepath.Join(dir, "mla", "bundles"), nil
}
