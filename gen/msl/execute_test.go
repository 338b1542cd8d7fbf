package msl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// TestExecute runs the synthetic kernels on the CPU and compares all of their
// memory with the float64 reference. The first kernel, a plain mat-vec, runs with
// every format; the others, whose code is the same for all formats, take turns: with one
// format in the fast tier.
func TestExecute(t *testing.T) {
	b := synthetic(plan.ElemF32)
	for i := 1; i < len(b.Kernels); i++ {
		k := &b.Kernels[i]
		if n := len(k.Variants); n > 2 {
			turns := []plan.Variant{k.Variants[i%n], k.Variants[(i+5)%n], k.Variants[(i+10)%n]}
			if !deep.On {
				turns = turns[:1]
			}
			k.Variants = turns
		}
	}
	executeAll(t, b)
}

func executeAll(t *testing.T, b *plan.Bundle) {
	t.Helper()
	executeSource(t, b, print(t, b), false)
}

// executeSource runs all kernels of a bundle, on rows in the split layout if the source has the macro for it.
func executeSource(t *testing.T, b *plan.Bundle, source string, split bool) {
	t.Helper()
	e := executor(t, source)
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for j := range k.Variants {
			for _, pos := range positions(k) {
				m := newMemory(k, &k.Variants[j], b.Activations, pos)
				m.split = split
				t.Run(fmt.Sprintf("%s/%d", k.Variants[j].Func, pos), func(t *testing.T) { m.execute(t, e, k.Variants[j].Func) })
			}
		}
	}
}

// positions are where a kernel runs: attention at the edges of tiles and splits.
func positions(k *plan.Kernel) []int {
	if _, ok := k.Parts[0].(*plan.Attend); ok || verify.CombineOf(k.Parts[0]) != nil {
		return []int{0, 15, 16, 37, testContext - 1}
	}
	return []int{37}
}

// executor compiles the kernels of a bundle and runs them with all checks.
func executor(t *testing.T, source string) *execute.Copies {
	t.Helper()
	program, err := execute.Compile(source, execute.Checked|execute.Small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	})
	return program.Copies()
}

// execute runs a kernel function and compares all memory.
func (m *memory) execute(t *testing.T, e *execute.Copies, function string) {
	want, before := m.clone(), m.clone()
	native := m.data
	m.data = slices.Clone(native)
	for slot, cols := range m.splitSlots() {
		m.data[slot] = m.splitRows(slot, cols)
	}
	if err := e.Run(function, m.k.Groups(), m.k.Threads, m.data); err != nil {
		t.Fatal(err)
	}
	for slot := range m.splitSlots() {
		m.data[slot] = native[slot]
	}
	for _, p := range m.k.Parts {
		want.run(p)
	}
	m.rebase(want)
	m.compare(t, want, before)
}

// tolerance is relative to the largest number of a result. The sums are float32
// over up to 7168 terms, each lane adding some 200 of them one after the other:
// about 200 × 2^-24, and as much again where a format's offset cancels.
const tolerance = 3e-5

// halfTolerance is for halves: a result next to the middle between two halves may
// round either way.
const halfTolerance = 0x1p-10

// compare checks that each buffer of m equals that of want. before is the memory before the launch.
func (m *memory) compare(t *testing.T, want, before *memory) {
	t.Helper()
	for slot, s := range m.k.Slots {
		switch {
		case s.Elem == plan.ElemRoute:
			m.compareRouting(t, want, slot)
		case !s.Write:
			if string(m.data[slot]) != string(want.data[slot]) {
				t.Errorf("slot %s: changed, but only read", s.Name)
			}
		default:
			m.compareNumbers(t, want, before, slot)
		}
	}
}

// compareNumbers compares the numbers in a slot. The tolerance is relative to the largest number that
// changed: unchanged numbers say nothing about the scale of results, nor do the masks of empty splits.
func (m *memory) compareNumbers(t *testing.T, want, before *memory, slot int) {
	t.Helper()
	n, allowed, rare := len(m.data[slot])/4, tolerance, 0
	if m.half(slot) {
		n, allowed = 2*n, halfTolerance
	}
	if m.widths[slot] > 0 && m.types[slot] == quant.Q8_0 {
		// A number in the middle between two multiples of its scale may become either.
		n, allowed, rare = len(m.data[slot])/34*32, halfTolerance, m.widths[slot]/64
	}
	if m.inMatrices(slot) {
		allowed = matrixTolerance
		if m.half(slot) {
			allowed += halfTolerance // a difference of this size can round to another half
		}
	}
	largest := 0.0
	for i := range n {
		if w := math.Abs(want.at(slot, i)); w < 1e29 && want.at(slot, i) != before.at(slot, i) {
			largest = max(largest, w)
		}
	}
	for i := range n {
		g, w := m.at(slot, i), want.at(slot, i)
		if rare > 0 && math.Abs(g-w) > halfTolerance*largest && math.Abs(g-w) < 1.01/127*largest {
			rare--
			continue
		}
		if !(math.Abs(g-w) <= allowed*max(largest, math.Abs(w)/1e6)) {
			t.Fatalf("slot %s[%d] is %g; expected %g (largest %g)", m.k.Slots[slot].Name, i, g, w, largest)
		}
	}
}

func (m *memory) compareRouting(t *testing.T, want *memory, slot int) {
	t.Helper()
	for i := range len(m.data[slot]) / 8 {
		e, w := m.routing(slot, i)
		we, ww := want.routing(slot, i)
		if e != we || !(math.Abs(w-ww) <= tolerance || math.IsNaN(w) && math.IsNaN(ww)) {
			t.Fatalf("routing %d: expert %d with %g; expected %d with %g", i, e, w, we, ww)
		}
	}
}
