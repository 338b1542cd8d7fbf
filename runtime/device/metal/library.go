package metal

import (
	"os"
	"path/filepath"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
)

// LibraryName is the file name of a bundle's compiled library. It contains a hash of the source, so that a
// library of another source is never used.
func LibraryName(b *plan.Bundle) string { return stem(b) + ".metallib" }

func stem(b *plan.Bundle) string { return b.Name + "-" + b.SourceSum()[:12] }

// FromSource is the origin of kernels that were compiled from source at load time.
const FromSource = "compiled from source"

// Kernels are compiled from source at load time, or ahead of time to a library (make metallib), and from
// either one pipelines may be archived. Arithmetic is the same in all cases: as written, with precise
// functions and without contraction. From source, the options of mtl.Device.NewLibrary ask for the first two;
// for make metallib, -fno-fast-math does (scripts/metallib.sh; a test compares its flags with the options). A
// pragma of the source forbids contraction. An archive has no such options: it holds pipelines of a library's
// functions, and a pipeline that is missing is made from the library again.

// library returns a bundle's functions: from a compiled library of the same source if there is one, else
// compiled from the parts of the source that they need (rule 23). A compiled library that cannot be loaded is
// ignored, as it only saves time. origin is the library's path, or FromSource.
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
