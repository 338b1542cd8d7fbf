package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/checkup"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
)

// pickRounds is how many times tokens are picked behind several rows at once: every set of
// parameters comes up some ten times, in company of others.
const pickRounds = 24

// kernelCheck compares kernels with their Go twins.
type kernelCheck struct {
	*examination
	deadline      time.Time // zero: none
	checked, left int       // launches
}

// bundleCheck is what is left to check of a bundle.
type bundleCheck struct {
	*plan.Bundle
	cases   []check.Case
	begun   bool
	sampler bool // is left
}

// variantsAtATime is how many kernels of a bundle are checked until it is another bundle's turn.
const variantsAtATime = 4

// kernels compares those that the model file needs, or those of all bundles until time
// is up: some of each bundle in turn, small models first, so that a short time, too, sees
// kernels of each.
func (x *examination) kernels() error {
	k := &kernelCheck{examination: x}
	if x.flags.hasDeadline() {
		k.deadline = time.Now().Add(x.flags.kernels)
	}
	start := time.Now()
	if x.flags.model != "" {
		c, err := x.needs(x.flags.model)
		if err != nil {
			return err
		}
		k.inTurn([]*plan.Bundle{c.bundle}, func(v *plan.Variant) bool { return slices.Contains(c.used, v.Func) })
	} else {
		bundles, err := x.bundles()
		if err != nil {
			return err
		}
		k.inTurn(bundles, func(*plan.Variant) bool { return true })
	}
	text := fmt.Sprintf("%d launches checked in %.1f s", k.checked, time.Since(start).Seconds())
	if k.checked == 0 && k.left > 0 {
		x.Write(checkup.Skip, x.stage.name, "the time of -t was over before the first of %d launches", k.left)
	}
	if k.left > 0 {
		text += fmt.Sprintf(", %d not checked (-t gives more time)", k.left)
	}
	x.Write(checkup.Note, "", "%s", text)
	return nil
}

// found is a model file, and what runs it on the device.
type found struct {
	file   *bind.Resolved
	bundle *plan.Bundle
	config device.Config // for up to -width rows
	used   []string      // the kernel functions that the file then needs
}

// chosen opens a model file and finds what runs it.
func (x *examination) chosen(model string) (c *found, err error) {
	f := *x.flags.flags
	f.model = model
	file, err := f.openModel()
	if err != nil {
		return nil, err
	}
	c = &found{file: bind.Resolve(file), config: x.flags.cfg}
	c.bundle, err = f.finder().Choose(file.Path, c.file, bind.Wish{Bundle: f.bundle, Act: f.bundleAct(), Class: x.patient.class})
	f.noteMisfit(err)
	var m *device.Model
	if err == nil {
		m, err = c.file.Bind(c.bundle)
	}
	if err == nil {
		c.config.Width = f.rows(c.bundle)
		c.used, err = m.Functions(c.config, x.patient.kernels)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// needs is chosen for whoever asks for the kernels alone: the file is closed.
func (x *examination) needs(model string) (*found, error) {
	c, err := x.chosen(model)
	if err == nil {
		err = c.file.File.Close()
	}
	return c, err
}

// bundles are those for the device that the system can run, small models first.
func (x *examination) bundles() ([]*plan.Bundle, error) {
	f := x.flags
	all, err := f.finder().Of(f.bundle)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(plan.For(x.patient.class, all), func(b *plan.Bundle) bool {
		if act := f.bundleAct(); act != "" && act != b.Act() {
			return true
		}
		if x.patient.runs == nil {
			return false
		}
		err := x.patient.runs(b)
		if err != nil {
			x.Write(checkup.Skip, "kernels of "+b.Name, "%v", err)
		}
		return err != nil
	})
	slices.SortStableFunc(list, func(a, b *plan.Bundle) int { return a.Model.HiddenSize - b.Model.HiddenSize })
	return list, nil
}

func (k *kernelCheck) late() bool { return !k.deadline.IsZero() && time.Now().After(k.deadline) }

// inTurn checks the variants of bundles that are wanted, until time is up.
func (k *kernelCheck) inTurn(bundles []*plan.Bundle, wanted func(*plan.Variant) bool) {
	var left []*bundleCheck
	for _, b := range bundles {
		cases, err := check.Cases(b)
		if err != nil {
			k.Write(checkup.Fail, b.Name, "%v", err)
			continue
		}
		cases = slices.DeleteFunc(cases, func(c check.Case) bool { return !wanted(c.Variant) })
		k.left += len(cases)
		left = append(left, &bundleCheck{Bundle: b, cases: cases, sampler: k.patient.sampler})
	}
	for len(left) > 0 && !k.late() {
		some := variantsAtATime
		if len(left) == 1 {
			some = len(left[0].cases)
		}
		if b := left[0]; k.turn(b, some) {
			left = append(left[1:], b)
		} else {
			left = left[1:]
		}
	}
}

// turn checks the next variants of a bundle, and after its last variant the sampler. more says
// that the bundle has further variants.
func (k *kernelCheck) turn(b *bundleCheck, variants int) (more bool) {
	if !b.begun {
		k.Write(checkup.Note, "", "kernels of %s (%s, spec %.12s) against their Go twins", b.Name, b.Kind(), b.SpecHash)
	}
	n := 0
	for ; n < len(b.cases) && variants > 0; n++ {
		if n+1 == len(b.cases) || b.cases[n+1].Variant != b.cases[n].Variant {
			variants--
		}
	}
	cases := b.cases[:n]
	b.cases = b.cases[n:]
	picks := b.sampler && len(b.cases) == 0
	used := functions(cases)
	if picks {
		used = append(used, samplers(b.Bundle)...)
	}
	k.Write(checkup.Now, "compile "+b.Name, "")
	l, done, err := k.patient.launcher(b.Bundle, used)
	if err != nil {
		k.Write(checkup.Fail, b.Name, "%v", err)
		return false
	}
	defer done()
	if o, ok := l.(interface{ Origin() string }); ok && !b.begun {
		k.Write(checkup.Note, "", "%s", o.Origin())
	}
	b.begun = true
	checked := checkup.Kernels(k.Writer, l, cases, k.late)
	k.checked, k.left = k.checked+checked, k.left-checked
	if picks && !k.late() {
		k.sampler(l, b.Bundle)
	}
	return len(b.cases) > 0
}

// functions are those of cases.
func functions(cases []check.Case) []string {
	var list []string
	for i := range cases {
		list = append(list, cases[i].Variant.Func)
	}
	return list
}

// samplers are the functions that pick tokens.
func samplers(b *plan.Bundle) (list []string) {
	for _, d := range b.Pick {
		for _, v := range b.Kernels[d.Kernel].Variants {
			list = append(list, v.Func)
		}
	}
	return list
}

// sampler compares what picks tokens with what the CPU picks.
func (k *kernelCheck) sampler(l device.Launcher, b *plan.Bundle) {
	name := "sampler of " + b.Name
	k.Write(checkup.Now, name, "")
	switch err := check.Picks(l, b, pickRounds); {
	case errors.Is(err, errors.ErrUnsupported):
		k.Write(checkup.Skip, name, "not able, so the CPU picks tokens: %v", err)
	case err != nil:
		k.Write(checkup.Fail, name, "%v", err)
	default:
		k.Write(checkup.Pass, name, "tokens behind up to %d rows picked as by the CPU", plan.MaxWanted)
	}
}
