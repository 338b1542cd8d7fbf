package main

import "mla/runtime/engine/opening"

// drafts adds the flags about drafts.
func (f *flags) drafts() {
	f.StringVar(&f.draft.How, "draft", "", "`how` to draft tokens (speculative decoding): ngram, as the text went on where its last tokens stood before; or mtp, by the model's own layer (GLM-4.7-Flash). The text is the same up to rounding; drafting pauses while it does not pay")
	f.StringVar(&f.draft.File, "draft-model", "", "`file` with the layer for -draft mtp, if the model's file has none")
}

// checkDraft checks the flags about drafts.
func (f *flags) checkDraft() error {
	if f.draft.File != "" && f.draft.How != opening.MTP {
		return f.wrong("-draft-model goes with -draft %s", opening.MTP)
	}
	if err := f.draft.Check(); err != nil {
		return f.wrong("-draft %v", err)
	}
	return nil
}

// drafting returns the drafting that the flags select. With one row at a time there is no row for a layer
// that predicts tokens.
func (f *flags) drafting() opening.Drafting {
	if f.draft.How == opening.MTP && f.width == 1 {
		return opening.Drafting{}
	}
	return f.draft
}
