package main

import (
	"mla/runtime/engine"
	"mla/runtime/engine/draft"
	"mla/runtime/engine/opening"
)

// drafting is what guesses tokens that are run together with the one before them.
type drafting struct{ how, file string }

// The values of -draft.
const (
	draftNgram = "ngram"
	draftMTP   = "mtp"
)

// drafts adds the flags of commands that can guess.
func (f *flags) drafts() {
	f.StringVar(&f.draft.how, "draft", "", "`how` to guess tokens that are run together with the one before: ngram, as the text went on where its last tokens stood before, or mtp, by the model's layer that predicts the token after next (GLM-4.7-Flash). The text is the same but for rounding, as rows together are rounded otherwise; it takes less time where guesses are right, and they rest where they do not pay")
	f.StringVar(&f.draft.file, "draft-model", "", "`file` with the layer for -draft mtp, if the model's has none")
}

// checkDraft looks at the flags of drafts.
func (f *flags) checkDraft() error {
	switch {
	case f.draft.how != "" && f.draft.how != draftNgram && f.draft.how != draftMTP:
		return f.wrong("-draft is %q; expected %s or %s", f.draft.how, draftNgram, draftMTP)
	case f.draft.file != "" && f.draft.how != draftMTP:
		return f.wrong("-draft-model goes with -draft %s", draftMTP)
	}
	return nil
}

// predicts says where the layer that predicts is, if drafts want it.
func (f *flags) predicts() *opening.Draft {
	if f.draft.how != draftMTP || f.width == 1 { // one row at a time has no room for guesses
		return nil
	}
	return &opening.Draft{File: f.draft.file, Flag: "-draft " + draftMTP}
}

// drafters makes a drafter for each session of a scheduler; nil without -draft.
func (f *flags) drafters() func(*engine.Session) (engine.Drafter, error) {
	if f.draft.how == "" {
		return nil
	}
	return f.drafter
}

// drafter is what -draft names, for a session; nil without it.
func (f *flags) drafter(s *engine.Session) (engine.Drafter, error) {
	switch {
	case f.draft.how == draftNgram:
		return draft.Default, nil
	case f.draft.how == draftMTP && f.width != 1:
		return s.Predictor()
	}
	return nil, nil
}
