package main

import (
	"time"

	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/plan"
)

// ready prepares the kernels of one bundle: that of the model file, of the shipped model, or of the smallest
// model for which the device has kernels. used holds the functions that the file needs, or all functions. l is
// nil if there is no bundle for this device; a row of the report says so.
func (x *examination) ready() (l device.Launcher, done func(), b *plan.Bundle, used []string, err error) {
	if path, missing := x.modelFile(); missing == nil {
		c, err := x.needs(path)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		b, used = c.bundle, c.used
	} else if list, err := x.bundles(); err != nil {
		return nil, nil, nil, nil, err
	} else if len(list) > 0 {
		b = list[0]
		used = b.Functions()
	}
	if b == nil {
		return nil, nil, nil, nil, nil
	}
	x.Write(checkup.Now, "kernels of "+b.Name, "")
	l, done, err = x.Patient.Launcher(b, used)
	return l, done, b, used, err
}

// compile prepares the kernels and writes how long that takes.
func (x *examination) compile() error {
	start := time.Now()
	l, done, b, used, err := x.ready()
	if err != nil || l == nil {
		return err
	}
	defer done()
	if c, ok := l.(interface {
		Compile(functions []string) error
	}); ok {
		if err := c.Compile(used); err != nil {
			return err
		}
	}
	text := ""
	if o, ok := l.(interface{ Origin() string }); ok {
		text = ", " + o.Origin()
	}
	x.Write(checkup.Fact, "kernels of "+b.Name, "ready in %.2f s%s", time.Since(start).Seconds(), text)
	x.Write(checkup.Pass, x.Stage.Name, "")
	return nil
}

// pipelineLimits writes the limits that Metal's compiler sets for every kernel.
func (x *examination) pipelineLimits() error {
	l, done, b, used, err := x.ready()
	if err != nil || l == nil {
		return err
	}
	defer done()
	x.Patient.PipelineLimits(x.Writer, l.(*metal.Launcher), b, used)
	return nil
}
