package mtl

import (
	"bytes"
	"fmt"
	"unsafe"
)

// object is a counted reference. The zero object is nil.
type object struct{ id ID }

// Nil tells whether there is no object.
func (o object) Nil() bool { return o.id == 0 }

// Release gives up one reference and forgets the object. It does nothing to nil.
func (o *object) Release() {
	if o.id != 0 {
		messages.release.send(o.id)
		o.id = 0
	}
}

// str makes an autoreleased NSString.
func str(s string) ID { return messages.newString.send(s) }

// text copies an NSString.
func text(s ID) string {
	if s == 0 {
		return ""
	}
	return messages.utf8.send(s)
}

// url makes an autoreleased NSURL of a file.
func url(path string) ID { return messages.fileURL.send(str(path)) }

// failed turns an NSError into an error; e may be nil.
func failed(what string, e ID) error {
	if e == 0 {
		return fmt.Errorf("%s failed without a reason", what)
	}
	return fmt.Errorf("%s: %s (code %d)", what, text(messages.errorText.send(e)), messages.errorCode.send(e))
}

// OSAtLeast tells whether the system is macOS major or later, for majors up to 15:
// to a Go binary macOS 26 says that it is 16.0 (rule 19). For what is newer ask for
// the class, the selector or the protocol.
func OSAtLeast(major int) bool {
	return messages.osAtLeast.send(messages.process.send(), osVersion{major: int64(major)})
}

// OSVersion describes the system, for people and for names of files: its version as
// it is, which OSAtLeast does not tell, and its build.
func OSVersion() string {
	return "macOS " + sysctl("kern.osproductversion") + " (" + sysctl("kern.osversion") + ")"
}

// sysctl is a text value of the system; "unknown" where there is none.
func sysctl(name string) string {
	value := make([]byte, 64) // of a version, which has ten or so
	length := uint64(len(value))
	if functions.sysctl(name, unsafe.Pointer(&value[0]), unsafe.Pointer(&length), nil, 0) != 0 {
		return "unknown"
	}
	value, _, _ = bytes.Cut(value, []byte{0})
	return string(value)
}
