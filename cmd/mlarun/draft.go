package main

import (
	"errors"
	"fmt"

	"mla/runtime/engine"
	"mla/runtime/engine/draft"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
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

// predict gives the engine its layer that predicts, if drafts want it.
func (f *flags) predict(eng *engine.Engine) error {
	if f.draft.how != draftMTP || f.width == 1 { // one row at a time has no room for guesses
		return nil
	}
	file := eng.File()
	if f.draft.file != "" {
		var err error
		if file, err = gguf.Open(f.draft.file); err != nil {
			return err
		}
	}
	if h, err := gguf.ReadHParams(file); err == nil && !h.NextN {
		err := fmt.Errorf("%s has no layer that predicts the token after next, which -draft %s takes; -draft-model names a file that has", file.Path, draftMTP)
		return closeOther(file, eng, err)
	}
	b := eng.Bundle()
	wish := bind.Wish{Act: b.Act(), Class: eng.Device().Class(), NextN: true}
	if bundles.IsFile(f.bundle) {
		wish.Bundle = f.bundle
	}
	layer, err := f.finder().Choose(eng.File().Path, file, wish)
	if err == nil {
		err = eng.Predict(file, layer)
	}
	return closeOther(file, eng, err)
}

// closeOther closes a file that the engine does not have, if there is an error.
func closeOther(file *gguf.File, eng *engine.Engine, err error) error {
	if err != nil && file != eng.File() {
		return errors.Join(err, file.Close())
	}
	return err
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
