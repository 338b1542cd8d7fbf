// Package opening opens a model: it finds a device, the bundle that runs the file there, and the MTP layer,
// and makes an engine of them. The command line, the server and the library all open models here. A file's
// header is read once, however many devices are tried.
package opening

import (
	"context"
	"errors"
	"fmt"

	"mla/runtime/device"
	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// Options is the parameters of Open.
type Options struct {
	// File opens the model file. It is called once. first is the device that is tried first.
	File func(first device.Device) (*gguf.File, error)
	// Bundles finds the bundle.
	Bundles *bundles.Finder
	// Bundle is a bundle file or the name of a bundle; "": the one that fits best.
	Bundle string
	// Act is the type of the bundle's activations, one of plan.ActNames. "": on a GPU halves, if a bundle has
	// them and the file is not known to exceed their range; else floats.
	Act string
	// Exact chooses floats on a GPU, too, unless Act or Bundle ask for halves. It is for comparisons.
	Exact bool
	// Cache is the folder that remembers files that exceed the range of halves; "": none is remembered.
	Cache string
	// Devices are tried in order. The first device that exists and does not refuse the model runs it. The
	// last one must not refuse.
	Devices []Candidate
	// Draft says where the MTP layer is; nil: it is not used.
	Draft *Draft
	// Note tells the user why a device does not run the model, and which one is tried next; nil: the user is
	// not told.
	Note func(reason error, next string)
	// Say tells the user a line, Detail a line for users who want details; nil: the user is not told.
	Say, Detail func(line string)
}

// Candidate is a device that may run a model.
type Candidate struct {
	Name string // for Note
	Open func() (device.Device, error)
	// Absent says whether an error of Open means that the machine has no such device, which is not worth a
	// message; nil: never.
	Absent func(error) bool
	// Lacks says why the device has no kernels of a bundle; nil, also as a result: it has.
	Lacks func(*plan.Bundle) error
	// With adapts the device to a bundle; nil: no change.
	With func(device.Device, *plan.Bundle) (device.Device, error)
	// Refuses says why the device does not run a model; nil, also as a result: it does. If the error is
	// context.Canceled, no other device is tried.
	Refuses func(device.Device, *bind.Resolved, *plan.Bundle) error
}

// Draft says where the MTP layer is.
type Draft struct {
	File string // file with the layer; "": the model's
	Flag string // the option that asked for it, for messages
}

// Open opens a model on the first device that runs it. An error of type *bind.FitError or *bind.ActError
// names the command that makes the missing bundle.
func Open(o Options) (*engine.Engine, error) {
	m := &model{Options: o}
	for i, c := range o.Devices {
		e, refused, err := m.on(&c, i == len(o.Devices)-1)
		switch {
		case err != nil && m.resolved != nil:
			return nil, errors.Join(err, m.resolved.File.Close())
		case err != nil || e != nil:
			return e, err
		case refused != nil && o.Note != nil:
			o.Note(refused, o.Devices[i+1].Name)
		}
	}
	return nil, errors.New("there is no device to run the model")
}

// model is a model that is being opened.
type model struct {
	Options
	resolved *bind.Resolved
	layer    *bind.Resolved // the file with the MTP layer; nil: none was opened
}

// on opens the model on a device. If it returns neither an engine nor an error, the next device is to be
// tried; refused says why, if that is worth a message.
func (m *model) on(c *Candidate, last bool) (e *engine.Engine, refused, err error) {
	d, err := c.Open()
	if err != nil {
		switch {
		case last:
			return nil, nil, err
		case c.Absent != nil && c.Absent(err):
			return nil, nil, nil
		}
		return nil, err, nil
	}
	if m.resolved == nil {
		file, err := m.File(d)
		if err != nil {
			return nil, nil, err
		}
		m.resolved = bind.Resolve(file)
		if err := m.resolved.Runnable(); err != nil { // no bundle can be made for the file
			return nil, nil, err
		}
	}
	b, refused, err := m.bundle(c, d, last)
	if b == nil {
		return nil, refused, err
	}
	if e, err = m.engine(c, d, b); err != nil {
		return nil, nil, err
	}
	m.widens(e, c, d)
	return e, nil, nil
}

// bundle returns the bundle that runs the model on a device. If it returns neither a bundle nor an error,
// refused says why the device does not run the model.
func (m *model) bundle(c *Candidate, d device.Device, last bool) (b *plan.Bundle, refused, err error) {
	wish := bind.Wish{Bundle: m.Bundle, Act: m.Act, Prefer: m.prefers(d), Class: d.Class()}
	if b, err = m.choose(wish); err != nil {
		return nil, nil, err
	}
	if refused = m.refusal(c, d, b, last); refused != nil && m.optional(b) {
		var overflow interface{ Overflow() bool }
		switch {
		case errors.As(refused, &overflow) && overflow.Overflow():
			m.keep()
			m.say(m.goesOn())
		case c.Lacks == nil || c.Lacks(b) == nil:
			return nil, refused, nil
		}
		if wish.Prefer = ""; m.setBundle(&b, wish) {
			refused = m.refusal(c, d, b, last)
		}
	}
	switch {
	case errors.Is(refused, context.Canceled):
		return nil, nil, refused
	case refused != nil && !last:
		return nil, refused, nil
	}
	m.explain(b, d)
	return b, nil, nil
}

// setBundle sets the bundle for a wish, if there is one.
func (m *model) setBundle(b **plan.Bundle, w bind.Wish) bool {
	other, err := m.choose(w)
	if err == nil {
		*b = other
	}
	return err == nil
}

func (m *model) choose(w bind.Wish) (*plan.Bundle, error) {
	return m.Bundles.Choose(m.resolved.File.Path, m.resolved, w)
}

// refusal says why a device does not run a bundle. The last device is asked only for missing kernels.
func (m *model) refusal(c *Candidate, d device.Device, b *plan.Bundle, last bool) error {
	if c.Lacks != nil && (!last || m.optional(b)) {
		if err := c.Lacks(b); err != nil {
			return err
		}
	}
	if c.Refuses == nil || last {
		return nil
	}
	return c.Refuses(d, m.resolved, b)
}

// engine makes an engine of the file, a bundle and a device.
func (m *model) engine(c *Candidate, d device.Device, b *plan.Bundle) (e *engine.Engine, err error) {
	if c.With != nil {
		if d, err = c.With(d, b); err != nil {
			return nil, err
		}
	}
	if e, err = engine.New(m.resolved, b, d); err != nil {
		return nil, err
	}
	return e, m.predict(e)
}

// predict gives the engine the MTP layer, if it is wanted.
func (m *model) predict(e *engine.Engine) error {
	switch {
	case m.Draft == nil:
		return nil
	case m.layer != nil: // opened by an engine with other activations
		return m.predictBy(e, m.layer)
	}
	layer := m.resolved
	if m.Draft.File != "" {
		file, err := gguf.Open(m.Draft.File)
		if err != nil {
			return err
		}
		layer = bind.Resolve(file)
	}
	err := m.predictBy(e, layer)
	if err != nil && layer != m.resolved {
		return errors.Join(err, layer.File.Close())
	}
	m.layer = layer
	return err
}

func (m *model) predictBy(e *engine.Engine, layer *bind.Resolved) error {
	if h, err := layer.HParams(); err == nil && !h.NextN {
		return fmt.Errorf("%s has no layer that predicts the token after next, which %s takes; -draft-model names a file that has", layer.File.Path, m.Draft.Flag)
	}
	wish := bind.Wish{Act: e.Bundle().Act(), Class: e.Device().Class(), NextN: true}
	if bundles.IsFile(m.Bundle) {
		wish.Bundle = m.Bundle
	}
	b, err := m.Bundles.Choose(m.resolved.File.Path, layer, wish)
	if err != nil {
		return err
	}
	return e.Predict(layer, b)
}

// On opens a file on a device with one of the given bundles: the one with the given name, or for "" the one
// that fits best.
func On(path string, list []*plan.Bundle, name string, d device.Device) (*engine.Engine, error) {
	return Open(Options{
		File:    func(device.Device) (*gguf.File, error) { return gguf.Open(path) },
		Bundles: &bundles.Finder{Program: list}, Bundle: name,
		Devices: []Candidate{{Open: func() (device.Device, error) { return d, nil }}},
	})
}
