package mtl

import (
	"errors"
	"fmt"
	"unsafe"
)

// GPU families (MTLGPUFamily). Apple's have consecutive numbers: 7 is M1, 8 is M2, 9 is M3 and M4.
const (
	Apple1  = 1001
	Apple10 = 1010 // M5
)

// Options of a buffer (MTLResourceOptions).
const (
	StorageShared  = 0
	StoragePrivate = 2 << 4 // only the GPU has access
)

// Compile options.
const (
	Language3_1  = 3<<16 | 1 // MTLLanguageVersion3_1
	mathModeSafe = 0         // MTLMathModeSafe

	mathFunctionsPrecise = 1 // MTLMathFloatingPointFunctionsPrecise

	// MathFlag is the option of the command-line compiler that corresponds to NewLibrary: arithmetic is not
	// rewritten, and functions are precise.
	MathFlag = "-fno-fast-math"
)

// Device is a GPU.
type Device struct{ object }

// NewSystemDevice is the default GPU.
func NewSystemDevice() (Device, error) {
	d := functions.systemDevice()
	if d == 0 {
		return Device{}, errors.New("no GPU that Metal can use")
	}
	return Device{object{d}}, nil
}

// Name is the vendor's name of the GPU.
func (d Device) Name() string { return text(messages.deviceName.send(d.id)) }

// MaxBufferLength is the size limit of one buffer in bytes.
func (d Device) MaxBufferLength() uint64 { return messages.maxBufferLength.send(d.id) }

// MaxWorkingSet is the bytes that the GPU can use at once without slowdown or failure, as recommended by the
// system.
func (d Device) MaxWorkingSet() uint64 { return messages.maxWorkingSet.send(d.id) }

// MaxThreadgroupMemory is the size limit of threadgroup memory in bytes.
func (d Device) MaxThreadgroupMemory() uint64 { return messages.maxThreadgroupMem.send(d.id) }

// UnifiedMemory tells whether GPU and CPU share their memory.
func (d Device) UnifiedMemory() bool { return messages.unifiedMemory.send(d.id) }

// Supports says whether the GPU supports a family.
func (d Device) Supports(family int) bool { return messages.supportsFamily.send(d.id, int64(family)) }

// NewBuffer allocates a buffer. Its contents are undefined.
func (d Device) NewBuffer(label string, length uint64, options uint64) (Buffer, error) {
	b := Buffer{object{messages.newBuffer.send(d.id, length, options)}, length}
	if b.Nil() {
		return b, fmt.Errorf("cannot allocate %d bytes of Metal memory for %s", length, label)
	}
	messages.bufferLabel.send(b.id, str(label))
	return b, nil
}

// NewBufferNoCopy makes a buffer of mapped memory that starts at p. The memory must stay mapped until after
// the release. p and length must be multiples of the page size, and the memory must not be Go's.
func (d Device) NewBufferNoCopy(label string, p unsafe.Pointer, length uint64) (Buffer, error) {
	b := Buffer{object{messages.newBufferNoCopy.send(d.id, p, length, StorageShared, 0)}, length}
	if b.Nil() {
		return b, fmt.Errorf("cannot map %d bytes into Metal for %s", length, label)
	}
	messages.bufferLabel.send(b.id, str(label))
	return b, nil
}

// NewLibrary compiles source in a version of the language, with IEEE arithmetic as written and precise
// functions.
func (d Device) NewLibrary(source string, language uint64) (Library, error) {
	options := object{messages.newCompileOptions.send()}
	defer options.Release()
	messages.languageVersion.send(options.id, language)
	// The math mode does not cover functions such as exp, which are fast by default. The older switch of
	// macOS 14 covers both.
	if messages.respondsTo.send(options.id, messages.mathMode.sel) {
		messages.mathMode.send(options.id, mathModeSafe)
	} else {
		messages.fastMath.send(options.id, false)
	}
	if messages.respondsTo.send(options.id, messages.mathFunctions.sel) {
		messages.mathFunctions.send(options.id, mathFunctionsPrecise)
	}
	var e ID
	l := messages.newLibrarySource.send(d.id, str(source), options.id, &e)
	if l == 0 {
		return Library{}, failed("compile the kernels", e)
	}
	return Library{object{l}}, nil
}

// NewLibraryFile loads a compiled library (.metallib).
func (d Device) NewLibraryFile(path string) (Library, error) {
	var e ID
	l := messages.newLibraryURL.send(d.id, url(path), &e)
	if l == 0 {
		return Library{}, failed("load "+path, e)
	}
	return Library{object{l}}, nil
}

// Buffer is memory of the GPU.
type Buffer struct {
	object
	length uint64
}

// Length is the size in bytes.
func (b Buffer) Length() uint64 { return b.length }

// Bytes is the memory of a shared buffer. It must not be used after Release.
func (b Buffer) Bytes() []byte {
	return unsafe.Slice((*byte)(messages.contents.send(b.id)), b.length)
}
