package mtl

import "fmt"

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

// OSAtLeast tells whether the system is macOS major or later.
func OSAtLeast(major int) bool {
	return messages.osAtLeast.send(messages.process.send(), osVersion{major: int64(major)})
}

// OSVersion describes the system, for messages.
func OSVersion() string { return text(messages.osText.send(messages.process.send())) }
