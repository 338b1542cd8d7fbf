package cuda_test

import (
	"errors"

	"mla/gen"
	"mla/gen/spec"
	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// crowdName is the name of crowdBundle in test cases.
const crowdName = "crowd"

// crowdBundle returns a small model of experts whose batches have 32 rows, as in class nvidia.
func crowdBundle() *plan.Bundle {
	s, err := spec.Load("../../../specs/dsv2litemini.yaml")
	if err != nil {
		panic(err)
	}
	b, err := gen.Compile(s.WithClass(plan.ClassNVIDIA).WithSequences(1, 16, plan.LargestBatch, 40), nil)
	if err != nil {
		panic(err)
	}
	return b
}

// crowd checks that each of up to 32 sessions in one replay has the tokens that it has alone.
func crowd(lib string) error {
	m, done, err := reference.Bind("dsv2lite-mini-Q4_K_M", []*plan.Bundle{crowdBundle()}, "f32")
	if err != nil {
		return err
	}
	d, err := cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX})
	if err != nil {
		return err
	}
	// The tolerance is the rounding error of logits: a batch adds float32 numbers in another order.
	return errors.Join(reference.Crowd(d, m, device.Config{KV: quant.F32}, 1e-3, 17, 31, 32), done(), leaks(lib))
}
