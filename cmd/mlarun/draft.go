package main

import "mla/runtime/engine/opening"

// drafts adds the flags of commands that can draft.
func (f *flags) drafts() {
	f.StringVar(&f.draft.How, "draft", "", "`how` to draft tokens (speculative decoding): ngram, as the text went on where its last tokens stood before; or mtp, by the model's own layer (GLM-4.7-Flash). The text is the same up to rounding; drafting pauses while it does not pay")
	f.StringVar(&f.draft.File, "draft-model", "", "`file` with the layer for -draft mtp, if the model's file has none")
}

// checkDraft looks at the flags of drafts.
func (f *flags) checkDraft() error {
	if f.draft.File != "" && f.draft.How != opening.MTP {
		return f.wrong("-draft-model goes with -draft %s", opening.MTP)
	}
	if err := f.draft.Check(); err != nil {
		return f.wrong("-draft %v", err)
	}
	return nil
}

// drafting is what the flags ask for. One row at a time has no room for a layer that predicts.
func (f *flags) drafting() opening.Drafting {
	if f.draft.How == opening.MTP && f.width == 1 {
		return opening.Drafting{}
	}
	return f.draft
}
