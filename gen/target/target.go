// Package target has what the compiler knows of devices: cores, memory, registers, and from how
// many rows on which form of a kernel is the quicker one. All of it is tables. A row of a table
// says for which class of devices it is, and carries its [Source]: where the value is from, of
// which device, and since when. [For] gives the facts of a class.
//
// No other package of the compiler names a device or who makes it, but for the printer of that
// maker's language. So a new class is new rows here.
package target

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// What every device has for which kernels are written: see the table limits for the sources.
const (
	SimdWidth     = verify.SimdWidth  // threads of a simdgroup
	MaxThreads    = verify.MaxThreads // of a threadgroup
	MaxSimdgroups = MaxThreads / SimdWidth
	// ThreadgroupBytes is the threadgroup memory that a kernel for all devices may declare.
	ThreadgroupBytes = 32768
)

// What kernels allow themselves on every device.
const (
	// MaxRegisters bounds the floats of one array that a thread keeps in registers.
	MaxRegisters = 256
	// MaxStage is how many normalised inputs a threadgroup holds at a time, in floats. It is a
	// multiple of every block size. Longer inputs pass in several stages.
	MaxStage = 4096
)

// PTXClass is the class of devices that run PTX, never the Metal source, which devices of MetalClass run.
const (
	PTXClass   = plan.ClassNVIDIA
	MetalClass = plan.ClassApple
)

// Untried is what texts say of a prediction.
const Untried = "not measured on Apple hardware"

// Kind says how sure a value is.
type Kind string

// The kinds.
const (
	DataSheet Kind = "data sheet" // the maker says so
	Measured  Kind = "measured"   // this project has measured it
	Reported  Kind = "reported"   // others have measured it
	Estimated Kind = "estimated"  // nobody has measured it
)

// Source says where a row of a table is from.
type Source struct {
	Kind  Kind
	On    string // the devices; "": any
	Date  string // year-month-day when the value came into the table
	Found string // the figures, or the reason
}

// String says it in short, for those who ask why a kernel is shaped as it is.
func (s *Source) String() string {
	if s.On == "" {
		return fmt.Sprintf("%s, %s", s.Kind, s.Date)
	}
	return fmt.Sprintf("%s on %s, %s", s.Kind, s.On, s.Date)
}

// row is what devices of a class have.
type row[T any] struct {
	class string // "": devices of any class without a row of its own
	is    T
	from  Source
}

// table has a row of class "", and at most one for each other class.
type table[T any] []row[T]

// of is the row of a class.
func (t table[T]) of(class string) *row[T] {
	general := 0
	for i := range t {
		switch t[i].class {
		case class:
			return &t[i]
		case "":
			general = i
		}
	}
	return &t[general]
}

// Target is the facts about a class of devices.
type Target struct{ class string }

// For is the facts about a class, one of plan.Classes; "": about any device.
func For(class string) Target { return Target{class} }

// h200 and h100 are where the project has measured.
const (
	h100 = "an NVIDIA H100"
	h200 = "an NVIDIA H200"
)

// limits are the sources of the constants above.
var limits = []struct {
	name string
	is   int
	from Source
}{
	{"SimdWidth", SimdWidth, Source{DataSheet, "Apple GPUs and NVIDIA GPUs", "2026-11-20", "Metal's thread_execution_width of families Apple7 and later; CUDA's warpSize"}},
	{"MaxThreads", MaxThreads, Source{DataSheet, "Apple GPUs and NVIDIA GPUs", "2026-11-20", "Metal feature set tables: maximum threads per threadgroup; CUDA: maximum threads per block"}},
	{"ThreadgroupBytes", ThreadgroupBytes, Source{DataSheet, "Apple GPUs", "2026-11-20", "Metal feature set tables: maximum total threadgroup memory allocation, families Apple4 and later"}},
}
