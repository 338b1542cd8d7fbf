package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
)

// kernels compares the kernels that the model file needs. Without a model file it compares the kernels of all
// bundles until the time is up, some of each bundle in turn, small models first, so that even a short time
// covers kernels of each.
func (x *examination) kernels() error {
	k := &patient.Kernels{Writer: x.Writer, Patient: x.Patient}
	if x.Asked.HasDeadline() {
		k.Deadline = time.Now().Add(x.flags.kernels)
	}
	start := time.Now()
	if x.flags.model != "" {
		c, err := x.needs(x.flags.model)
		if err != nil {
			return err
		}
		k.InTurn([]*plan.Bundle{c.bundle}, func(v *plan.Variant) bool { return slices.Contains(c.used, v.Func) })
	} else {
		bundles, err := x.bundles()
		if err != nil || len(bundles) == 0 {
			return err
		}
		k.InTurn(bundles, func(*plan.Variant) bool { return true })
	}
	x.told(k, time.Since(start))
	return nil
}

// told writes how many launches were checked, and how many were left for lack of time.
func (x *examination) told(k *patient.Kernels, took time.Duration) {
	all := k.Checked + k.Left
	done := fmt.Sprintf("%d of %d launches", k.Checked, all)
	switch {
	case k.Left == 0:
		x.Write(checkup.Note, "", "%d launches checked in %.1f s", all, took.Seconds())
		return
	case k.Checked == 0:
		x.Write(checkup.Skip, x.Stage.Name, "the time of -t was over before the first of %d launches", all)
	default:
		x.Write(checkup.Part, done, "%d of %d launches of kernels", k.Left, all)
	}
	x.Write(checkup.Note, "", "%s checked in %.1f s; -t gives more time", done, took.Seconds())
}

// found is a model file together with the bundle and the device that run it.
type found struct {
	file   *bind.Resolved
	bundle *plan.Bundle
	config device.Config // for up to -width rows
	used   []string      // the kernel functions that the file needs with this configuration
}

// chosen opens a model file and finds the bundle that runs it.
func (x *examination) chosen(model string) (c *found, err error) {
	f := *x.flags.flags
	f.model = model
	file, err := f.openModel()
	if err != nil {
		return nil, err
	}
	c = &found{file: bind.Resolve(file), config: x.flags.cfg}
	c.bundle, err = f.finder().Choose(file.Path, c.file, bind.Wish{Bundle: f.bundle, Act: f.bundleAct(), Class: x.Patient.Class})
	f.noteMisfit(err)
	var m *device.Model
	if err == nil {
		m, err = c.file.Bind(c.bundle)
	}
	if err == nil {
		c.config.Width = f.rows(c.bundle)
		c.used, err = m.Functions(c.config, x.Patient.Kernels)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// needs is chosen for callers that only need the kernels: it closes the file.
func (x *examination) needs(model string) (*found, error) {
	c, err := x.chosen(model)
	if err == nil {
		err = c.file.File.Close()
	}
	return c, err
}

// bundles returns the bundles for the device that the system can run, small models first. Rows say why other
// bundles are left out, one row if all are.
func (x *examination) bundles() ([]*plan.Bundle, error) {
	f := x.flags
	all, err := f.finder().Of(f.bundle)
	if err != nil {
		return nil, err
	}
	act := f.bundleAct()
	wanted := slices.DeleteFunc(plan.For(x.Patient.Class, all), func(b *plan.Bundle) bool { return act != "" && act != b.Act() })
	var list []*plan.Bundle
	var out []checkup.Row
	for _, b := range wanted {
		if x.Patient.Runs != nil {
			if err := x.Patient.Runs(b); err != nil {
				out = append(out, checkup.Row{Name: "kernels of " + b.Name, Text: err.Error()})
				continue
			}
		}
		list = append(list, b)
	}
	switch {
	case len(wanted) == 0:
		out = []checkup.Row{{Name: x.Stage.Name, Text: "there is no bundle for this device"}}
	case len(list) == 0:
		out = []checkup.Row{{Name: x.Stage.Name, Text: fmt.Sprintf("none of %d bundles runs here; %s", len(out), out[0].Text)}}
	}
	for _, row := range out {
		x.Write(checkup.Skip, row.Name, "%s", row.Text)
	}
	slices.SortStableFunc(list, func(a, b *plan.Bundle) int { return a.Model.HiddenSize - b.Model.HiddenSize })
	return list, nil
}
