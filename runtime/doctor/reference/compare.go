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

// Bind opens a file and binds it to the bundle that fits it best among those with the activations act, one of
// plan.ActNames. done closes the file.
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

// CPUTolerance is the greatest relative difference between a device's logits and those of the Go references,
// with activations in half. Given the same input, a kernel and its reference compute the same halves, with
// few exceptions: both round float sums that were added up in different orders, and a sum at the border
// between two halves becomes one or the other, 2^-11 or 2^-10 apart. That moves later sums across their own
// borders. After some layers the two runs differ as if each had its own rounding: by as much as either
// differs from float32, 8e-4 to 2.6e-3 on the small files. (sim/replay compares single dispatches, to 1e-3.)
const CPUTolerance = 4e-3

// CompareCPU compares a device's logits with those of the CPU device's Go references, with activations in
// half and a cache of type kv. with records a model on the device and passes the runner to f. The references
// run without assembly: another order of sums has other rounding borders, so every machine that runs the
// tests must compare with the same order.
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

// Rerouted is the difference of a row, see [Difference], from which on the row is counted as one with other
// experts. Rounding alone causes a sixth of it. Another expert, one of a token's few in one of the few layers
// of the small files, causes three times as much.
const Rerouted = 15e-3

// Comparison describes the difference of two runners on one text.
type Comparison struct {
	Rows     int     // tokens
	Rerouted int     // rows for which other experts were chosen
	Worst    float64 // the greatest difference of the other rows
}

// Compare runs the prompt on r and on other. After a token with other experts, both begin again with the next
// token, since their cache rows differ too. So every other token shows how close equal routing brings the
// two.
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

// Check requires differences of at most tolerance, and the same experts for seven of eight tokens; for all
// tokens if the model has no experts.
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

// Difference returns the root mean square of the differences of two rows of logits, relative to that of want;
// NaN if either row has a NaN.
func Difference(got, want []float32) float64 {
	var diff, size float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff += d * d
		size += float64(w) * float64(w)
	}
	return math.Sqrt(diff / size)
}
