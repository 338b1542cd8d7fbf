package reference

import (
	"errors"
	"fmt"
	"math"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/linalg"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// Bind opens a file and binds it to the bundle of those activations, one of
// plan.ActNames, that fits it best; done closes the file.
func Bind(name string, bundles []*plan.Bundle, act string) (m *device.Model, done func() error, err error) {
	file, err := gguf.Open(stem(name) + ".gguf")
	if err != nil {
		return nil, nil, err
	}
	r := bind.Resolve(file)
	b, err := r.Choose(bundles, bind.Wish{Act: act})
	if err == nil {
		m, err = r.Bind(b)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return m, file.Close, nil
}

// CPUTolerance is how far a device's logits may be from those of the Go references, of
// their size, with activations in half. Given the same input, a kernel and its reference
// make the same halves, but for a few: what both round are sums whose parts were
// added up as floats in different orders, and one that lies at the border between
// two halves becomes one or the other, 2^-11 or 2^-10 apart. That moves sums after
// it over borders of theirs, and after some layers the two runs differ as if each had
// rounding of its own: by as much as either differs from float32, 8e-4 to 2.6e-3 on
// the small files. (Single dispatches are compared in sim/replay, to 1e-3.)
const CPUTolerance = 4e-3

// CompareCPU compares a device's logits with those of the CPU device's Go references, with
// activations in half and a cache of type kv. with records a model on the device and
// hands the runner to f. The references run without assembly: another order of sums has
// other borders, so every machine that tests compares with the same.
func CompareCPU(name string, bundles []*plan.Bundle, kv quant.Type, with func(m *device.Model, cfg device.Config, f func(device.Runner) error) error) (err error) {
	ref, err := Read(name)
	if err != nil {
		return err
	}
	m, done, err := Bind(name, bundles, "f16")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := linalg.SetBackend("go"); err != nil {
		return err
	}
	cfg := device.Config{Context: len(ref.Prompt), KV: kv}
	host, err := device.LoadSingle(cpu.New(), m, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	return with(m, cfg, func(r device.Runner) error {
		c, err := ref.Compare(r, host)
		if err != nil {
			return err
		}
		return c.Check(CPUTolerance, &m.Bundle.Model)
	})
}

// Rerouted is the difference of a row, see [Difference], from which on other experts
// were chosen. Rounding makes a sixth of it, and another expert, one of a
// token's few in one of the small files' few layers, three times as much.
const Rerouted = 15e-3

// Comparison is what two runners of one text differ in.
type Comparison struct {
	Rows     int     // tokens
	Rerouted int     // of those, for which other experts were chosen
	Worst    float64 // the greatest difference of the others
}

// Compare runs the prompt on r and on other. After a token with other experts both
// begin again with the next one, since its cache rows differ too: so every token but
// those says how close equal routing brings the two.
func (ref *Reference) Compare(r, other device.Runner) (Comparison, error) {
	c := Comparison{Rows: len(ref.Prompt)}
	start := 0
	for i, token := range ref.Prompt {
		got, err := r.Replay(Rows(token, i-start), device.All(1))
		if err != nil {
			return c, err
		}
		want, err := other.Replay(Rows(token, i-start), device.All(1))
		if err != nil {
			return c, err
		}
		d := Difference(got, want)
		switch {
		case math.IsNaN(d):
			return c, fmt.Errorf("position %d: a logit is NaN", i)
		case d > Rerouted:
			c.Rerouted, start = c.Rerouted+1, i+1
		default:
			c.Worst = max(c.Worst, d)
		}
	}
	return c, nil
}

// Check wants differences of at most tolerance, and the same experts for seven of
// eight tokens; of a model without experts for all.
func (c Comparison) Check(tolerance float64, m *plan.Model) error {
	allowed := 0
	if m.MoE.NRoutedExperts > 0 {
		allowed = c.Rows / 8
	}
	if c.Worst > tolerance || c.Rerouted > allowed {
		return fmt.Errorf("logits differ by %.2g of their size, and %d of %d tokens go to other experts; at most %g and %d are allowed",
			c.Worst, c.Rerouted, c.Rows, tolerance, allowed)
	}
	return nil
}

// Difference is the root mean square of the differences of two rows of logits,
// relative to that of want; NaN if one of them has one.
func Difference(got, want []float32) float64 {
	var diff, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(diff / size)
}
