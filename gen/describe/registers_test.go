package describe_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"mla/gen/describe"
)

// held is the expected number of registers of a thread of attention, by model, devices, form and cache.
var held = map[string]map[string]int{
	"youtu2b":        {" plain f32": 70, " matrix f16": 96, " matrix q8_0": 125, "apple7 plain f32": 70, "apple7 matrix f16": 96, "apple7 matrix q8_0": 89},
	"deepseekv2lite": {" plain f32": 70, " matrix f16": 96, " matrix q8_0": 125, "apple7 plain f32": 70, "apple7 matrix f16": 96, "apple7 matrix q8_0": 89},
	"glm47flash":     {" plain f32": 114, " matrix f16": 125, " matrix q8_0": 158, "apple7 plain f32": 95, "apple7 matrix f16": 82, "apple7 matrix q8_0": 96},
}

// registers checks the registers of attention in the report of one of the models.
func registers(t *testing.T, r *describe.Report) {
	t.Helper()
	want := held[r.Bundle]
	if len(r.Attention) != len(want) {
		t.Errorf("%s: %+v", r.Bundle, r.Attention)
	}
	var text bytes.Buffer
	if err := r.Table(&text); err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Attention {
		form := a.Form + " " + a.Cache
		if a.Held != want[a.Class+" "+form] || a.Held != a.Accumulators+a.Fragments+a.Loads || a.Held > a.Budget || a.Over || a.Addresses <= 0 {
			t.Errorf("%s: %+v; want %d held", r.Bundle, a, want[a.Class+" "+form])
		}
		if row := fmt.Sprintf(`%s +%s +%s +%d .* %d +%d +%d\b`, a.Kernel, a.Form, a.Cache, a.Threads, a.Held, a.Budget, a.Addresses); !regexp.MustCompile(row).Match(text.Bytes()) {
			t.Errorf("%s: the report has no row %s", r.Bundle, row)
		}
	}
}
