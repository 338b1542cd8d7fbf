// Package target has the compiler's facts about devices: cores, memory, registers, and the number of rows
// from which one form of a kernel is faster than another. All facts are in tables. A row of a table is for
// one class of devices. It has a [Source]: where the value comes from, for which device, and the date. [For]
// returns the facts about a class.
//
// No other package of the compiler names a device or its maker, except the printer of the maker's language.
// So a new class needs only new rows here.
package target

import (
	"fmt"

	"mla/runtime/plan"
	"mla/runtime/plan/verify"
)

// Limits that all devices have in common. The table limits has their sources.
const (
	SimdWidth     = verify.SimdWidth  // threads of a simdgroup
	MaxThreads    = verify.MaxThreads // of a threadgroup
	MaxSimdgroups = MaxThreads / SimdWidth
	// ThreadgroupBytes is the threadgroup memory that a kernel for all devices may declare.
	ThreadgroupBytes = 32768
)

// Limits that kernels keep to on all devices.
const (
	// MaxRegisters bounds the floats of one array that a thread keeps in registers.
	MaxRegisters = 256
	// MaxStage is the largest number of normalised inputs that a threadgroup holds at a time, in floats. It
	// is a multiple of every block size. Longer inputs are staged in several steps.
	MaxStage = 4096
)

// PTXClass is the class of devices that run PTX; MetalClass the class of devices that run Metal source.
const (
	PTXClass   = plan.ClassNVIDIA
	MetalClass = plan.ClassApple
)

// Untried is the phrase that texts add to a prediction.
const Untried = "not measured on Apple hardware"

// Kind says how reliable a value is.
type Kind string

// The kinds.
const (
	DataSheet Kind = "data sheet" // specified by the maker
	Measured  Kind = "measured"   // by this project
	Reported  Kind = "reported"   // measured by others
	Estimated Kind = "estimated"  // measured by nobody
)

// Source says where a row of a table comes from.
type Source struct {
	Kind  Kind
	On    string // the devices; "": any
	Date  string // year-month-day when the value came into the table
	Found string // the figures, or the reason
}

// String returns kind, devices and date, for messages that explain a kernel's shape.
func (s *Source) String() string {
	if s.On == "" {
		return fmt.Sprintf("%s, %s", s.Kind, s.Date)
	}
	return fmt.Sprintf("%s on %s, %s", s.Kind, s.On, s.Date)
}

// row is a value for the devices of a class.
type row[T any] struct {
	class string // "": devices of any class without a row of its own
	is    T
	from  Source
}

// table must have a row of class "", and has at most one row for each other class.
type table[T any] []row[T]

// of returns the row of a class, or the row of class "" if it has none.
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

// Target has the facts about a class of devices.
type Target struct{ class string }

// For returns the facts about a class, one of plan.Classes; "" for any device.
func For(class string) Target { return Target{class} }

// h100 and h200 are the devices on which the project has measured.
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
