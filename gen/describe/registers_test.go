package describe_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"mla/gen/describe"
)

// held is what a thread of attention holds, by devices and form.
var held = map[string]map[string]int{
	"youtu2b":        {" plain": 70, " matrix": 96, "apple7 plain": 70, "apple7 matrix": 96},
	"deepseekv2lite": {" plain": 70, " matrix": 96, "apple7 plain": 70, "apple7 matrix": 96},
	"glm47flash":     {" plain": 114, " matrix": 125, "apple7 plain": 95, "apple7 matrix": 82},
}

// registers checks what a report of one of the models says of attention.
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
		if a.Held != want[a.Class+" "+a.Form] || a.Held != a.Accumulators+a.Fragments+a.Loads || a.Held > a.Budget || a.Over || a.Addresses <= 0 {
			t.Errorf("%s: %+v; want %d held", r.Bundle, a, want[a.Class+" "+a.Form])
		}
		if row := fmt.Sprintf(`%s +%s +%d .* %d +%d +%d\b`, a.Kernel, a.Form, a.Threads, a.Held, a.Budget, a.Addresses); !regexp.MustCompile(row).Match(text.Bytes()) {
			t.Errorf("%s: the report has no row %s", r.Bundle, row)
		}
	}
}
