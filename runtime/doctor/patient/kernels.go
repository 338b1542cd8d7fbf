package patient

import (
	"errors"
	"slices"
	"time"

	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/checkup"
	"mla/runtime/plan"
)

// pickRounds is how many rounds Picks runs: every set of parameters is used some ten times, together with
// others.
const pickRounds = 24

// Kernels compares the kernels of a patient with their Go references.
type Kernels struct {
	*checkup.Writer
	*Patient
	Deadline time.Time // zero: none
	// Checked and Left count launches.
	Checked, Left int
}

// bundleCheck holds the remaining checks of a bundle.
type bundleCheck struct {
	*plan.Bundle
	cases   []check.Case
	begun   bool
	sampler bool // the sampler is not checked yet
}

// variantsAtATime is how many variants of a bundle are checked before the next bundle's turn.
const variantsAtATime = 4

func (k *Kernels) late() bool { return !k.Deadline.IsZero() && time.Now().After(k.Deadline) }

// InTurn checks the variants of bundles for which wanted returns true, until the time is up.
func (k *Kernels) InTurn(bundles []*plan.Bundle, wanted func(*plan.Variant) bool) {
	var left []*bundleCheck
	for _, b := range bundles {
		cases, err := check.Cases(b)
		if err != nil {
			k.Write(checkup.Fail, b.Name, "%v", err)
			continue
		}
		cases = slices.DeleteFunc(cases, func(c check.Case) bool { return !wanted(c.Variant) })
		k.Left += len(cases)
		left = append(left, &bundleCheck{Bundle: b, cases: cases, sampler: k.Sampler})
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

// turn checks the next variants of a bundle, and after the last variant the sampler. more says whether the
// bundle has further variants.
func (k *Kernels) turn(b *bundleCheck, variants int) (more bool) {
	if !b.begun {
		k.Write(checkup.Note, "", "kernels of %s (%s, spec %.12s) against the Go reference", b.Name, b.Kind(), b.SpecHash)
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
	l, done, err := k.Launcher(b.Bundle, used)
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
	k.Checked, k.Left = k.Checked+checked, k.Left-checked
	if picks && !k.late() {
		k.picks(l, b.Bundle)
	}
	return len(b.cases) > 0
}

// functions returns the names of the functions of cases.
func functions(cases []check.Case) []string {
	var list []string
	for i := range cases {
		list = append(list, cases[i].Variant.Func)
	}
	return list
}

// samplers returns the names of the functions that pick tokens.
func samplers(b *plan.Bundle) (list []string) {
	for _, d := range b.Pick {
		for _, v := range b.Kernels[d.Kernel].Variants {
			list = append(list, v.Func)
		}
	}
	return list
}

// picks compares the tokens that the device picks with the tokens that the CPU picks.
func (k *Kernels) picks(l device.Launcher, b *plan.Bundle) {
	name := "sampler of " + b.Name
	k.Write(checkup.Now, name, "")
	switch err := check.Picks(l, b, pickRounds); {
	case errors.Is(err, errors.ErrUnsupported):
		k.Write(checkup.Skip, name, "not able, so the CPU picks tokens: %v", err)
	case err != nil:
		k.Write(checkup.Fail, name, "%v", err)
	default:
		k.Write(checkup.Pass, name, "tokens after up to %d rows picked as by the CPU", b.BatchRows())
	}
}
