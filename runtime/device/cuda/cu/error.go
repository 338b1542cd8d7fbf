package cu

import (
	"fmt"
	"unsafe"
)

// Error is a CUresult other than success.
type Error struct {
	Call string // the function that returned it
	Code int32
	Name string // such as CUDA_ERROR_OUT_OF_MEMORY
	Text string // the driver's description
}

// CodeNoDevice is CUDA_ERROR_NO_DEVICE.
const CodeNoDevice = 100

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d)", e.Call, e.Name, e.Text, e.Code)
}

// check returns the result of a call as an error.
func check(call string, r result) error {
	if r == 0 {
		return nil
	}
	e := &Error{Call: call, Code: int32(r), Name: "unknown error", Text: "the driver does not describe it"}
	var at uintptr
	if api.errorName(r, &at) == 0 && at != 0 {
		e.Name = text(at)
	}
	if at = 0; api.errorString(r, &at) == 0 && at != 0 {
		e.Text = text(at)
	}
	return e
}

// text copies a C string from the driver's memory.
func text(at uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // this memory is not the garbage collector's
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
