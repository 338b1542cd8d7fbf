package metal

import (
	"os"
	"path/filepath"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

// LibraryName is the file name of a bundle's compiled library. It carries a hash
// of the source, so that a library of another source is never taken for it.
func LibraryName(b *plan.Bundle) string { return stem(b) + ".metallib" }

func stem(b *plan.Bundle) string { return b.Name + "-" + b.SourceSum()[:12] }

// FromSource is the origin of kernels that were compiled when they were needed.
const FromSource = "compiled from source"

// Kernels come in three ways and are compiled alike on all of them: arithmetic as written,
// precise functions, nothing contracted. From source, the options of mtl.Device.NewLibrary
// ask for the first two; in make metallib, -fno-fast-math does (scripts/metallib.sh; a test
// holds its flags to the options). That nothing is contracted is a pragma of the source on
// both ways. An archive has no options of its own: it keeps what the GPU's compiler made of
// a library's functions, and whatever it lacks is made of those again.

// library takes kernels from a compiled library of the bundle's very source, or
// compiles them, with what they are made of and nothing else (rule 23). A compiled
// library only saves time, so one that cannot be loaded is passed over. origin is the
// library's path, or FromSource.
func (d *Device) library(gpu mtl.Device, b *plan.Bundle, functions []string) (l mtl.Library, origin string, err error) {
	if d.options.Compiled != "" {
		path := filepath.Join(d.options.Compiled, LibraryName(b))
		if _, err := os.Stat(path); err == nil {
			if l, err = gpu.NewLibraryFile(path); err == nil {
				return l, path, nil
			}
		}
	}
	source, err := pieces.Parse(b.Metal()).Cut(functions)
	if err != nil {
		return l, "", err
	}
	l, err = gpu.NewLibrary(source, mtl.Language3_1)
	return l, FromSource, err
}
