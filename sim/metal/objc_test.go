//go:build linux

package metal_test

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

type id uintptr

// size is MTLSize, span is NSRange, version is NSOperatingSystemVersion.
type (
	size    struct{ w, h, d uint64 }
	span    struct{ location, length uint64 }
	version struct{ major, minor, patch int64 }
)

// sim is the loaded simulator.
type sim struct {
	handle   uintptr
	msgSend  uintptr
	getClass func(string) id
	protocol func(string) id
	selector func(string) uintptr
	poolPush func() uintptr
	poolPop  func(uintptr)
	device   func() id
	leaks    func() int32
	pass     func(float64)
	methods  func() string
	rules    func() string

	sysctlbyname func(string, *byte, *uint64, uintptr, uint64) int32

	sendText    func(id, uintptr, string) id
	textOf      func(id, uintptr) string
	dispatch    func(id, uintptr, size, size)
	recommended func(id, uintptr, size) uint64
	execute     func(id, uintptr, id, span)
	atLeast     func(id, uintptr, version) bool
	sendDouble  func(id, uintptr) float64
	sendPointer func(id, uintptr) unsafe.Pointer
}

func load(path string) (*sim, error) {
	h, err := purego.Dlopen(path, purego.RTLD_NOW)
	if err != nil {
		return nil, err
	}
	s := &sim{handle: h}
	if s.msgSend, err = purego.Dlsym(h, "objc_msgSend"); err != nil {
		return nil, err
	}
	purego.RegisterLibFunc(&s.getClass, h, "objc_getClass")
	purego.RegisterLibFunc(&s.protocol, h, "objc_getProtocol")
	purego.RegisterLibFunc(&s.sysctlbyname, h, "sysctlbyname")
	purego.RegisterLibFunc(&s.selector, h, "sel_registerName")
	purego.RegisterLibFunc(&s.poolPush, h, "objc_autoreleasePoolPush")
	purego.RegisterLibFunc(&s.poolPop, h, "objc_autoreleasePoolPop")
	purego.RegisterLibFunc(&s.device, h, "MTLCreateSystemDefaultDevice")
	purego.RegisterLibFunc(&s.leaks, h, "metalsim_leaks")
	purego.RegisterLibFunc(&s.pass, h, "metalsim_pass")
	purego.RegisterLibFunc(&s.methods, h, "metalsim_methods")
	purego.RegisterLibFunc(&s.rules, h, "metalsim_rules")
	for _, f := range []any{&s.sendText, &s.textOf, &s.dispatch, &s.recommended, &s.execute, &s.atLeast, &s.sendDouble, &s.sendPointer} {
		purego.RegisterFunc(f, s.msgSend)
	}
	return s, nil
}

// send sends a message whose arguments and result are integers or pointers.
func (s *sim) send(receiver id, selector string, args ...uintptr) uintptr {
	all := append([]uintptr{uintptr(receiver), s.selector(selector)}, args...)
	r, _, _ := purego.SyscallN(s.msgSend, all...)
	return r
}

func (s *sim) object(receiver id, selector string, args ...uintptr) id {
	return id(s.send(receiver, selector, args...))
}

// string is an autoreleased NSString.
func (s *sim) string(text string) id {
	return s.sendText(s.getClass("NSString"), s.selector("stringWithUTF8String:"), text)
}

// text is the contents of an NSString.
func (s *sim) text(o id) string { return s.textOf(o, s.selector("UTF8String")) }

// sysctl is a text value of the system, or "-". It fails where there is too little
// room for it.
func (s *sim) sysctl(name string) string {
	var length uint64
	if s.sysctlbyname(name, nil, &length, 0, 0) != 0 {
		return "-"
	}
	text := make([]byte, length)
	if length--; s.sysctlbyname(name, &text[0], &length, 0, 0) == 0 {
		panic(name + " fits where there is no room")
	}
	if s.sysctlbyname(name, &text[0], &length, 0, 0) != 0 || text[length-1] != 0 {
		panic(name + " does not fit")
	}
	return string(text[:length-1])
}

// made is a new object of a class.
func (s *sim) made(class string) id { return s.object(s.getClass(class), "new") }

// registerSend makes *f call objc_msgSend with f's own signature.
func registerSend(s *sim, f any) { purego.RegisterFunc(f, s.msgSend) }

// exports reports whether the library has a C function.
func (s *sim) exports(name string) bool {
	_, err := purego.Dlsym(s.handle, name)
	return err == nil
}
