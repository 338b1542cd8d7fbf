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

// made is the PTX of a bundle that make ptx left.
func made(b *plan.Bundle) (string, error) {
	file, err := os.ReadFile(filepath.Join("../../../generated", strings.TrimSuffix(b.Spec, ".yaml"), ptxfile.FileName(b.Name)))
	if err != nil {
		return "", err
	}
	return ptxfile.Text(b, file)
}

// BenchmarkCompile measures how long the driver takes for all of a bundle's kernels, and
// for those that a file of profile q4_0 needs, which is what a runner hands it. It needs
// a GPU, PTX of the bundles (make ptx), and CUDA_CACHE_DISABLE=1: else the
// driver compiles once.
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
