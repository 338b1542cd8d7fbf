package metal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"mla/gen"
	"mla/gen/spec"
	"mla/generated"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
)

func init() {
	cases["self-tests"] = selfTests
	cases["residency of pipelines"] = residencyOfPipelines
	cases["replays"] = replays
	cases["kernels icb"] = kernels("yoututiny", metal.ReplayICB)
	cases["kernels encode"] = kernels("yoututiny", metal.ReplayEncode)
	cases["sourceless"] = kernels("youtu2bnvidia", metal.ReplayICB)
	cases["limits"] = pipelineLimits
}

// selfTests runs all self-tests of the device.
func selfTests(lib string) error {
	d, err := metal.Open(metal.Options{Library: lib})
	if err != nil {
		return err
	}
	if err := d.SelfTest(metal.ReplayEncode); err != nil {
		return fmt.Errorf("direct encoding: %w", err)
	}
	if err := d.SelfTest(metal.ReplayICB); err != nil {
		return fmt.Errorf("indirect command buffer: %w", err)
	}
	if d.ResidencySets {
		if err := errors.Join(d.ResidencyBuffers(), d.ResidencyIndirect()); err != nil {
			return fmt.Errorf("residency set: %w", err)
		}
	}
	return nil
}

// replays checks that the device reports how it was told to replay.
func replays(lib string) error {
	for _, how := range []metal.Replay{metal.ReplayICB, metal.ReplayEncode} {
		d, err := metal.Open(metal.Options{Library: lib, Replay: how})
		if err != nil {
			return err
		}
		if got := d.HowReplayed(); got != how {
			return fmt.Errorf("told to replay by %s, the device says %s", how, got)
		}
	}
	return nil
}

// pipelineLimits prints the limits that are low, and checks the other limits of every kernel.
func pipelineLimits(lib string) error {
	d, err := metal.Open(metal.Options{Library: lib})
	if err != nil {
		return err
	}
	s, err := spec.Load("../../../specs/yoututiny.yaml")
	if err != nil {
		return err
	}
	b, err := gen.Compile(s.WithClass(plan.ClassApple), nil) // whose attention follows the GPU
	if err != nil {
		return err
	}
	l, err := d.NewLauncher(b, b.Functions())
	if err != nil {
		return err
	}
	defer l.Close()
	low, memory := 0, uint64(0)
	list := l.PipelineLimits(b, func(*plan.Variant) bool { return true })
	for _, p := range list {
		if err := p.Low(); err != nil {
			low++
			fmt.Printf("%s: %v\n", p.Function, err)
		} else if p.SimdWidth != 32 || p.MaxThreads < uint64(p.Threads) || p.Threads < 32 {
			return fmt.Errorf("%+v", p)
		}
		memory = max(memory, p.ThreadgroupMemory)
	}
	fmt.Printf("%d low, attention %d at a time\n", low, list[slices.IndexFunc(list, func(p metal.PipelineLimits) bool { return p.Function == "attend_f16" })].AtOnce)
	variants := 0
	for i := range b.Kernels {
		variants += len(b.Kernels[i].Variants)
	}
	if len(list) != variants || memory == 0 || memory > d.MaxThreadgroupMemory {
		return fmt.Errorf("%d pipelines of %d, with up to %d bytes of threadgroup memory", len(list), variants, memory)
	}
	one := list[variants/2].Function
	if list = l.PipelineLimits(b, func(v *plan.Variant) bool { return v.Func == one }); len(list) != 1 || list[0].Function != one {
		return fmt.Errorf("asked for %s: %+v", one, list)
	}
	return nil
}

// residencyOfPipelines checks that the feature works or is reported as unsupported.
func residencyOfPipelines(lib string) error {
	d, err := metal.Open(metal.Options{Library: lib})
	if err != nil {
		return err
	}
	err = d.ResidencyPipelines()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("no sentence: %w", err)
	}
	return err
}

// kernels compares the kernels of a bundle with their references.
func kernels(of string, how metal.Replay) func(lib string) error {
	return func(lib string) error {
		d, err := metal.Open(metal.Options{Library: lib, Replay: how})
		if err != nil {
			return err
		}
		b := bundle(of)
		cases, err := check.Cases(b)
		if err != nil {
			return err
		}
		l, err := d.NewLauncher(b, b.Functions())
		if err != nil {
			return err
		}
		defer l.Close()
		for i := range cases {
			if r := cases[i].Check(l); !r.OK() {
				err = errors.Join(err, errors.New(r.Problem()))
			}
		}
		return err
	}
}

func bundle(name string) *plan.Bundle {
	for _, b := range generated.Bundles() {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// TestLauncher runs single kernels and the self-tests in the simulator.
func TestLauncher(t *testing.T) {
	lib := library(t)
	for _, tt := range []struct {
		name, run string
		env       []string
		want      string // in what is printed; "": nothing goes wrong
	}{
		{"self-tests", "self-tests", nil, ""},
		{"self-tests, macOS 14, Apple7", "self-tests", []string{"METALSIM_OS=14", "METALSIM_GPU=m1"}, ""},
		{"self-tests, macOS 26", "self-tests", []string{"METALSIM_OS=26"}, ""},
		{"a residency set with pipelines", "residency of pipelines", nil, "on this system pipelines are no allocations"},
		{"a residency set with pipelines, Apple7", "residency of pipelines", []string{"METALSIM_GPU=m1"}, "on this system pipelines are no allocations"},
		{"a residency set with pipelines, macOS 26", "residency of pipelines", []string{"METALSIM_OS=26"}, ""},
		{"self-tests, a failed command buffer", "self-tests", []string{"METALSIM_FAULT=replay:5"}, "indirect command buffer: "},
		{"self-tests, no pipeline", "self-tests", []string{"METALSIM_FAULT=pipeline:2"}, "direct encoding: kernel reversed"},
		{"self-tests, no encoder", "self-tests", []string{"METALSIM_FAULT=encoder:1"}, "make a compute encoder"},
		{"self-tests, no residency set", "self-tests", []string{"METALSIM_FAULT=residency:1"}, "residency set: make a residency set: injected failure"},
		{"how tokens are replayed", "replays", nil, ""},
		{"kernels, ICB", "kernels icb", nil, ""},
		{"kernels, direct encoding", "kernels encode", []string{"METALSIM_OS=14", "METALSIM_GPU=m2"}, ""},
		{"kernels of another class", "sourceless", nil, "bundle youtu2bnvidia has no Metal source: devices of class nvidia, which it is for, run what was compiled of it"},
		{"limits", "limits", nil, "0 low, attention 0 at a time\n"},
		{"limits, macOS 27", "limits", []string{"METALSIM_OS=27", "METALSIM_GPU=m3max"}, "0 low, attention 40 at a time\n"},
		{"limits, few threads", "limits", []string{"METALSIM_MAX_THREADS=128"}, "256 threads in a threadgroup; this GPU allows 128"},
		{"limits, no pipeline", "limits", []string{"METALSIM_FAULT=pipeline:3"}, "1 low, "},
		{"kernels, few threads", "kernels encode", []string{"METALSIM_MAX_THREADS=128"}, "256 threads in a threadgroup; this GPU allows 128"},
		{"kernels, no memory", "kernels encode", []string{"METALSIM_FAULT=alloc:9"}, "cannot allocate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), caseVariable+"="+tt.run+"|"+lib, "METALSIM_STRICT=1")
			cmd.Env = append(cmd.Env, tt.env...)
			out, err := cmd.CombinedOutput()
			fails := tt.want != "" && tt.run != "limits"
			if fails != (err != nil) || !bytes.Contains(out, []byte(tt.want)) || bytes.Contains(out, []byte("[metalsim]")) {
				t.Fatalf("error %v; expected %q\n%s", err, tt.want, head(out))
			}
		})
	}
}
