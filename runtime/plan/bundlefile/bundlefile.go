// Package bundlefile keeps the bundles of one model in a file, NAME.mla, so that a program
// can run a model that it was not built for. docs/bundle-format.md describes the file: a
// zip archive whose first entry lists all others with their sizes and sha256.
//
// A bundle file is untrusted input. Reading one never panics, never allocates more than some hundred
// megabytes, and returns only bundles that package verify accepts. Package verify says what that protects
// from.
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

// Version is the version of the format, and of the meaning of plans and kernels. It is raised when old files
// would be misread. A change of types needs no new version, as planjson.Schema covers it.
const Version = 2

// File is the contents of a bundle file.
type File struct {
	Path    string            // where it was read from
	Spec    []byte            // the YAML text that the bundles were compiled from
	Bundles []*plan.Bundle    // of one spec; with their sources
	PTX     map[string][]byte // by name of a bundle: PTX, compressed; see package ptxfile
	Metal   map[string][]byte // by name of a bundle: a library from Apple's compiler
}

// Entries of the archive. Kernels, PTX and libraries are named after a bundle; kernels that several bundles
// share are named after the first one.
const (
	manifestEntry = "mla.json"
	specEntry     = "spec.yaml"
	planEntry     = "plan.json"
)

// group is a folder of the archive with one file per bundle, and the largest size of such a file.
type group struct {
	prefix, suffix string
	most           uint64
}

var (
	kernels   = group{"kernels/", ".metal", 1 << 24}
	ptxs      = group{"ptx/", ptxfile.Extension, 1 << 25}
	libraries = group{"metallib/", ".metallib", 1 << 27}
)

// mostBytes is the largest size of an entry; 0 for a name that is not an entry's.
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

// bundle is the name of the bundle that an entry belongs to.
func (g group) bundle(entry string) (string, bool) {
	rest, is := strings.CutPrefix(entry, g.prefix)
	name, ends := strings.CutSuffix(rest, g.suffix)
	return name, is && ends
}

// Limits on a file, far above any model's.
const (
	maxFile    = 1 << 28 // bytes, packed or unpacked
	maxEntries = 64
	maxPlan    = 1 << 26 // bytes of plan.json; mostBytes has the other limits
	maxBundles = 16
)

// Beside is the path of the bundle file for a model file: the same name in the same folder. The parts of a
// split model share one bundle file.
func Beside(model string) string { return gguf.Stem(model) + Suffix }

// Folder is the folder of a user's own bundle files. It is in the user's cache, as they can be made again.
func Folder() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for bundle files: %w", err)
	}
	return filepath.Join(dir, "mla", "bundles"), nil
}
