package gen_test

import (
	"regexp"
	"slices"
	"testing"
)

// partHead matches the beginning of a part's template: three lines that tell a reader the step, the purpose
// of fusing, and the sequences that use it.
var partHead = regexp.MustCompile(`^\{\{- /\* Step: [^\n]+\.\n       Fusing [^\n]+\.\n       Sequences: [^\n]+\. \*/( -)?\}\}`)

// sharedParts are templates that parts call. They are no parts themselves.
var sharedParts = []string{"templates/msl/parts/elements.msl", "templates/msl/parts/project.msl"}

// TestPartHeads checks that the template of each part begins with its step of the model, what fusing saves,
// and which sequences use it.
func TestPartHeads(t *testing.T) {
	files := tracked(t, "templates/msl/parts/*.msl")
	for _, name := range files {
		if partHead.Match(read(t, name)) == slices.Contains(sharedParts, name) {
			t.Errorf("%s does not begin with three lines, {{- /* Step: ….⏎ Fusing ….⏎ Sequences: …. */ -}}, or it is no part and has them", name)
		}
	}
	if len(files) < 25 {
		t.Errorf("%d templates of parts; expected 25 and more", len(files))
	}
}
