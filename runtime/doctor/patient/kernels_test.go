package patient_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
	"mla/runtime/plan"
)

// noLauncher launches nothing.
type noLauncher struct{ launches *int }

func (l noLauncher) Launch(*device.Launch) error {
	*l.launches++
	return errors.New("nothing is launched")
}

// TestInTurn: bundles take turns until each has no kernel left, and each kernel has its turn once.
func TestInTurn(t *testing.T) {
	names := []string{"yoututiny", "glm47tiny", "tinychat"}
	var bundles []*plan.Bundle
	for _, b := range generated.Bundles() {
		if slices.Contains(names, b.Name) {
			bundles = append(bundles, b)
		}
	}
	if len(bundles) != 3 {
		t.Fatalf("%d bundles", len(bundles))
	}
	var turns []string
	launches := 0
	seen := map[string]int{}
	k := &patient.Kernels{Writer: checkup.NewWriter(io.Discard), Patient: &patient.Patient{Launcher: func(b *plan.Bundle, functions []string) (device.Launcher, func(), error) {
		turns = append(turns, b.Name)
		for _, f := range slices.Compact(functions) {
			seen[b.Name+" "+f]++
		}
		return noLauncher{&launches}, func() {}, nil
	}}}
	k.InTurn(bundles, func(*plan.Variant) bool { return true })
	if len(turns) < 9 || !slices.Equal(turns[:3], []string{bundles[0].Name, bundles[1].Name, bundles[2].Name}) || !slices.Equal(turns[:3], turns[3:6]) {
		t.Errorf("turns %v", turns)
	}
	want := 0
	for _, b := range bundles {
		cases, err := check.Cases(b)
		if err != nil {
			t.Fatal(err)
		}
		want += len(cases)
		for _, c := range cases {
			if n := seen[b.Name+" "+c.Variant.Func]; n != 1 {
				t.Errorf("%s of %s has %d turns", c.Variant.Func, b.Name, n)
			}
		}
	}
	if launches != want || k.Checked != want || k.Left != 0 {
		t.Errorf("%d launches, %d checked, %d left; expected %d", launches, k.Checked, k.Left, want)
	}
}
