package cu

import "runtime"

// Context is a reference to a device's primary context.
type Context struct {
	handle handle
	device Device
}

// Retain takes a reference, and makes the context if it is the first.
func (d Device) Retain() (*Context, error) {
	c := &Context{device: d}
	if err := check("cuDevicePrimaryCtxRetain", api.retain(&c.handle, d)); err != nil {
		return nil, err
	}
	return c, nil
}

// Release gives the reference back; with the last one the context goes.
func (c *Context) Release() error {
	return check("cuDevicePrimaryCtxRelease_v2", api.release(c.device))
}

// Do runs f on an OS thread where the context is current. It may be called from
// several goroutines at once. The thread keeps the context afterwards: whatever
// runs there next sets its own.
func (c *Context) Do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := check("cuCtxSetCurrent", api.setCurrent(c.handle)); err != nil {
		return err
	}
	return f()
}
