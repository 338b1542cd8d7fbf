package msl_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"mla/gen/kernel"
	"mla/gen/msl"
	"mla/gen/msl/execute"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/tools/tests/deep"
)

// sampler returns a bundle that has only the kernels that pick tokens. maxBatch is its plan.Bundle.MaxBatch.
func sampler(t *testing.T, vocab, maxBatch int) *plan.Bundle {
	t.Helper()
	b := &plan.Bundle{Name: fmt.Sprintf("vocabulary of %d", vocab), Model: plan.Model{Dims: plan.Dims{VocabSize: vocab}}, MaxBatch: maxBatch, Profiles: []plan.Profile{{}}}
	kernel.Pick(b)
	kernel.Variants(b)
	var err error
	if b.Source, err = msl.Print(b, "// test"); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPicks picks after many rows at once as runtime/text/sample picks after each, for
// vocabularies of several sizes. In the largest a thread compares several blocks.
func TestPicks(t *testing.T) {
	list := []struct {
		vocab, maxBatch, rounds int
		checks                  execute.Checks
	}{{40, 0, 24, execute.Checked}, {300, plan.LargestBatch, 24, execute.Checked}, {1025, 0, 24, execute.Fast}, {9000, 0, 24, execute.Fast}, {131300, 0, 2, execute.Fast}}
	if !deep.On {
		list = list[1:3]
	}
	for _, tt := range list {
		b := sampler(t, tt.vocab, tt.maxBatch)
		if err := check.Picks(newLauncher(t, b.Metal(), tt.checks), b, tt.rounds); err != nil {
			t.Error(err)
		}
	}
}

// TestSamplingLayout compares the struct of the kernels with plan.Sampling.
func TestSamplingLayout(t *testing.T) {
	_, rest, ok := strings.Cut(sampler(t, 300, 0).Source, "struct Sampling {")
	if !ok {
		t.Fatal("no struct Sampling")
	}
	fields, _, _ := strings.Cut(rest, "}")
	var got []string
	for _, f := range strings.FieldsFunc(fields, func(r rune) bool { return r == ';' || r == '\n' }) {
		if f = strings.TrimSpace(f); f != "" {
			got = append(got, strings.ReplaceAll(f, "_", ""))
		}
	}
	names := map[reflect.Kind]string{reflect.Uint64: "ulong", reflect.Uint32: "uint", reflect.Float32: "float"}
	var want []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[plan.Sampling]()) {
		want = append(want, names[f.Type.Kind()]+" "+strings.ToLower(f.Name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields %q; expected %q", got, want)
	}
	if sampling, pick := binary.Size(plan.Sampling{}), int(unsafe.Sizeof(plan.Pick{})); sampling != 56 || pick != plan.PickBytes {
		t.Errorf("%d bytes, and %d of a pick; expected 56 and %d", sampling, pick, plan.PickBytes)
	}
}
