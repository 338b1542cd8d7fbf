package kernel

import (
	"strings"

	"mla/gen/ir"
)

// docs says what each op of a kernel is for, for the comment above the kernel.
var docs = map[ir.Kind]string{
	ir.Embed:         "reads the token's embedding row",
	ir.RMSNorm:       "normalises its input itself",
	ir.MatVec:        "multiplies",
	ir.Rope:          "rotates by the position",
	ir.StoreKV:       "writes the new latent cache row",
	ir.AttendSplit:   "attends over one split of the latent cache for all heads",
	ir.LatentAttn:    "attends to the latent cache for all heads of some rows",
	ir.Expand:        "makes keys or values of all heads of the latent cache rows that are attended to, which cost many queries less than the latent rows",
	ir.Attention:     "attends with each head of some rows to its expanded keys and values",
	ir.Combine:       "merges the attention splits",
	ir.SwiGLU:        "applies SwiGLU in registers",
	ir.SquaredReLU:   "squares what is positive",
	ir.Add:           "adds the residual",
	ir.Scores:        "scores the experts",
	ir.TopK:          "selects them again in every threadgroup",
	ir.RouteWeights:  "hands their weights on",
	ir.ExpertsMatVec: "multiplies by the selected experts",
	ir.WeightedSum:   "sums the experts with their weights",
	ir.GroupExperts:  "lists by expert what all rows have selected",
	ir.NormPartial:   "makes the next norm's partial sums",
	ir.NormApply:     "finishes the norm of its input",
}

// doc describes a launch part by part.
func doc(s *ir.Launch) string {
	var parts []string
	behind := ""
	for _, part := range s.Parts {
		var what []string
		for _, op := range part.Ops {
			if d := docs[op.Kind]; len(what) == 0 || what[len(what)-1] != d {
				what = append(what, d)
			}
		}
		text := part.Name() + ": " + strings.Join(what, ", ")
		if part.LastBlock != nil {
			behind += " The last threadgroup of " + part.LastBlock.After.Name() + " to finish " + groupOf(part.LastBlock) + " goes on with " + text + "."
			continue
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ". Beside it, ") + "." + behind
	if saved := savedDispatches(s); saved > 0 {
		text += " Fused to save " + plural(saved) + " and the trips of what lies between through memory."
	}
	return text
}

// groupOf says what a last-block part waits for.
func groupOf(t *ir.LastBlock) string {
	if t.Groups == 1 {
		return "its rows"
	}
	return "the rows of a head"
}

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
