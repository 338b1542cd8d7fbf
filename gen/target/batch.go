package target

import "mla/runtime/plan"

// batch is the maximum number of rows of a batch. The head computes the logits of all these rows, and the memory of
// picks has a place for each of them.
type batch struct{ dense, experts int } // dense: for models without experts

var batches = table[batch]{
	{"", batch{plan.DefaultBatch, plan.DefaultBatch}, Source{Estimated, "", "2026-11-28",
		"more rows take more memory for logits and samplers, and nobody has measured what they gain"}},
	{plan.ClassNVIDIA, batch{plan.DefaultBatch, plan.LargestBatch}, Source{Measured, h200, "2026-11-28",
		"a trial: 16 and 32 sessions of DeepSeek-V2-Lite at 5,095 and 6,445 tok/s, of Youtu-LLM, which has no experts, at 12,000 and 12,057. GLM-4.7-Flash was not measured"}},
}

// BatchRows returns the maximum number of rows of a batch, for a model with or without experts. Wider sequences are
// for prompts.
func (t Target) BatchRows(experts bool) int {
	b := batches.of(t.class).is
	if experts {
		return b.experts
	}
	return b.dense
}
