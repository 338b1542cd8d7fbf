package mtl

import (
	"bytes"
	"fmt"
	"unsafe"
)

// object is a reference to a reference-counted object. The zero object is nil.
type object struct{ id ID }

// Nil says whether the reference is nil.
func (o object) Nil() bool { return o.id == 0 }

// Release gives up the reference and sets it to nil. It does nothing to nil.
func (o *object) Release() {
	if o.id != 0 {
		messages.release.send(o.id)
		o.id = 0
	}
}

// str returns an autoreleased NSString.
func str(s string) ID { return messages.newString.send(s) }

// text copies an NSString to a Go string.
func text(s ID) string {
	if s == 0 {
		return ""
	}
	return messages.utf8.send(s)
}

// url returns an autoreleased NSURL of a file.
func url(path string) ID { return messages.fileURL.send(str(path)) }

// failed returns an NSError as an error; e may be nil.
func failed(what string, e ID) error {
	if e == 0 {
		return fmt.Errorf("%s failed without a reason", what)
	}
	return fmt.Errorf("%s: %s (code %d)", what, text(messages.errorText.send(e)), messages.errorCode.send(e))
}

// OSAtLeast says whether the system is macOS major or later, for majors up to 15. A Go binary is told that
// macOS 26 is 16.0 (rule 19), so for features of later systems callers ask for the class, the selector or the
// protocol.
func OSAtLeast(major int) bool {
	return messages.osAtLeast.send(messages.process.send(), osVersion{major: int64(major)})
}

// OSVersion is the real version of the system and its build, for people and for file names.
func OSVersion() string {
	return "macOS " + sysctl("kern.osproductversion") + " (" + sysctl("kern.osversion") + ")"
}

// sysctl is a text value of the system; "unknown" if there is none.
func sysctl(name string) string {
	value := make([]byte, 64) // a version has about ten bytes
	length := uint64(len(value))
	if functions.sysctl(name, unsafe.Pointer(&value[0]), unsafe.Pointer(&length), nil, 0) != 0 {
		return "unknown"
	}
	value, _, _ = bytes.Cut(value, []byte{0})
	return string(value)
}
