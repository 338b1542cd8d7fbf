package kernel

import (
	"strings"

	"mla/gen/ir"
)

// doc describes what the parts of a launch do, for the comment above the kernel.
func doc(s *ir.Launch) string {
	var parts []string
	for _, part := range s.Parts {
		var what []string
		for _, op := range part.Ops {
			if d := op.Kind.Does(); len(what) == 0 || what[len(what)-1] != d {
				what = append(what, d)
			}
		}
		text := part.Name() + ": " + strings.Join(what, ", ")
		parts = append(parts, text)
	}
	text := strings.Join(parts, ". Beside it, ") + "."
	if saved := savedDispatches(s); saved > 0 {
		text += " Fused to save " + plural(saved) + " and the trips of what lies between through memory."
	}
	return text
}

// savedDispatches returns how many more dispatches the launch would be with one op each. Both halves of a
// norm count as one op.
func savedDispatches(s *ir.Launch) int {
	n := -1
	for _, part := range s.Parts {
		n += len(part.Ops)
		if part.Find(ir.NormPartial) != nil {
			n-- // half of a norm
		}
	}
	return n
}

func plural(n int) string {
	if n == 1 {
		return "one dispatch"
	}
	words := []string{"two", "three", "four", "five", "six", "seven", "eight", "nine"}
	if n-2 < len(words) {
		return words[n-2] + " dispatches"
	}
	return "many dispatches"
}
