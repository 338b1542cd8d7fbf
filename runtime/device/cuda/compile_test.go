package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
	"mla/runtime/quant"
)

// made returns the PTX of a bundle, from the file of `make ptx`.
func made(b *plan.Bundle) (string, error) {
	file, err := os.ReadFile(filepath.Join("../../../generated", strings.TrimSuffix(b.Spec, ".yaml"), ptxfile.FileName(b.Name)))
	if err != nil {
		return "", err
	}
	return ptxfile.Text(b, file)
}

// BenchmarkCompile measures how long the driver takes to compile all kernels of a bundle, and only the kernels
// that a model file of profile q4_0 needs. A runner compiles only the kernels that it needs. The benchmark needs a
// GPU, the PTX of the bundles (make ptx) and CUDA_CACHE_DISABLE=1. Without this variable the driver caches its
// first result.
func BenchmarkCompile(b *testing.B) {
	d, err := Open(Options{PTX: made})
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"youtu2bf16nvidia", "glm47flashf16nvidia"} {
		at := slices.IndexFunc(generated.Bundles(), func(b *plan.Bundle) bool { return b.Name == name })
		bundle := generated.Bundles()[at]
		p, err := d.read(bundle)
		if err != nil {
			b.Fatal(err)
		}
		profile := slices.IndexFunc(bundle.Profiles, func(p plan.Profile) bool { return p.Name == "q4_0" })
		needed, err := reference.Profile(bundle, &bundle.Profiles[profile]).Functions(device.Config{KV: quant.F16}, "")
		if err != nil {
			b.Fatal(err)
		}
		for what, functions := range map[string][]string{"whole": bundle.Functions(), "cut": needed} {
			b.Run(name+"/"+what, func(b *testing.B) { compile(b, d, p, functions) })
		}
	}
}

func compile(b *testing.B, d *Device, p *ptx, functions []string) {
	wanted := map[string]bool{}
	for _, f := range functions {
		wanted[f] = true
	}
	text := p.module(wanted)
	b.ReportMetric(float64(len(functions)), "kernels")
	b.ReportMetric(float64(len(text)), "bytes")
	gpu, err := d.device.Retain()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = gpu.Release() }()
	for b.Loop() {
		err := gpu.Do(func() error {
			m, err := cu.LoadPTX(text)
			if err != nil {
				return err
			}
			return m.Unload()
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
