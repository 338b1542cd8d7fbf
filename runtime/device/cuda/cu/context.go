package cu

import "runtime"

// Context is a reference to a device's primary context.
type Context struct {
	handle handle
	device Device
}

// Retain takes a reference to the primary context. The first reference creates the context.
func (d Device) Retain() (*Context, error) {
	c := &Context{device: d}
	if err := check("cuDevicePrimaryCtxRetain", api.retain(&c.handle, d)); err != nil {
		return nil, err
	}
	return c, nil
}

// Release gives the reference back. The last one destroys the context.
func (c *Context) Release() error {
	return check("cuDevicePrimaryCtxRelease_v2", api.release(c.device))
}

// Do runs f on an OS thread to which the context is bound. Several goroutines may call it at once. The thread
// keeps the context afterwards; the next Do on it binds its own.
func (c *Context) Do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := check("cuCtxSetCurrent", api.setCurrent(c.handle)); err != nil {
		return err
	}
	return f()
}
