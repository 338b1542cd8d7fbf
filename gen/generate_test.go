package gen

import (
	"os"
	"strings"
	"testing"

	"mla/gen/spec"
)

// TestUnknownKernelInTuning: only the compiler knows the names of kernels; the
// message has the position all the same.
func TestUnknownKernelInTuning(t *testing.T) {
	text, err := os.ReadFile("../specs/yoututiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(string(text), "\n")
	tests := []struct {
		kernel  string
		disable []string
		want    string
	}{
		{"lm_head", nil, ""},
		{"lm_hed", nil, `:5: unknown kernel in tuning "lm_hed" (did you mean "lm_head"?)`},
		{"down_residual", []string{"fuse_residual"}, ""}, // names are others then
	}
	for _, tt := range tests {
		s, err := spec.Parse("dir/x.yaml", []byte(string(text)+"tuning:\n  kernels:\n    "+tt.kernel+": {simdgroups: 2}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Compile(s, tt.disable)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.kernel, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "dir/x.yaml:") || !strings.HasSuffix(err.Error(), tt.want)):
			t.Errorf("%s: %v; expected a message that ends in %q", tt.kernel, err, tt.want)
		case tt.want != "" && err.(spec.ErrorList)[0].Line != lines+3:
			t.Errorf("%s: line %d; expected %d", tt.kernel, err.(spec.ErrorList)[0].Line, lines+3)
		}
	}
}
