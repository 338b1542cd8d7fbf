package mtl

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

// frameworks are the libraries that are opened on macOS, in this order. Without CoreGraphics, a command-line
// program gets no device. A handle of any of them also finds the symbols of Metal and of the Objective-C
// runtime.
var frameworks = []string{
	"/usr/lib/libobjc.A.dylib",
	"/System/Library/Frameworks/Foundation.framework/Foundation",
	"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
	"/System/Library/Frameworks/Metal.framework/Metal",
}

// ErrNoLibrary says that there is no Metal on this system.
var ErrNoLibrary = errors.New("this system has no Metal; elsewhere than on macOS name a library that stands in for it: -metal-lib FILE")

var loading struct {
	sync.Mutex
	done    bool
	library string
	failed  error // a failed registration cannot be repeated
}

// Load opens the frameworks, or on any system the library if it is not "", and registers all messages. Later
// calls with the same library do nothing.
func Load(library string) error {
	loading.Lock()
	defer loading.Unlock()
	switch {
	case loading.failed != nil:
		return loading.failed
	case loading.done && loading.library != library:
		return fmt.Errorf("the Metal library is loaded from %q already; it cannot be loaded from %q too", loading.library, library)
	case loading.done:
		return nil
	}
	paths := []string{library}
	if library == "" {
		if runtime.GOOS != "darwin" {
			return ErrNoLibrary
		}
		paths = frameworks
	}
	var handles []uintptr
	for _, path := range paths {
		h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		handles = append(handles, h)
	}
	err := register(func(name string) (uintptr, error) { return find(handles, name) })
	loading.done, loading.library = true, library
	if err != nil {
		loading.failed = fmt.Errorf("load Metal: %w", err)
	}
	return loading.failed
}

// find returns the address of a symbol in any of the libraries.
func find(handles []uintptr, name string) (address uintptr, err error) {
	for _, h := range handles {
		if address, err = purego.Dlsym(h, name); err == nil && address != 0 {
			return address, nil
		}
	}
	return 0, fmt.Errorf("symbol %s: %w", name, err)
}

// Pool runs f with an autorelease pool of its own, on a locked OS thread. Objects from functions without New
// in their name must not be used after f has returned.
func Pool(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer functions.poolPop(functions.poolPush())
	return f()
}
