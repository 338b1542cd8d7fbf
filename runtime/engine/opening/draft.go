package opening

import (
	"fmt"

	"mla/runtime/engine"
	"mla/runtime/engine/draft"
)

// Ways to draft tokens.
const (
	Ngram = "ngram" // from the text itself, see draft.Ngram
	MTP   = "mtp"   // with the model's MTP layer
)

// Drafting is how drafts are made: How is one of the ways, "" without drafts. File is the file with the MTP
// layer, "" if the model's file has it.
type Drafting struct{ How, File string }

// Check fails for values that a user may not ask for.
func (d Drafting) Check() error {
	switch {
	case d.How != "" && d.How != Ngram && d.How != MTP:
		return fmt.Errorf("is %q; expected %s or %s", d.How, Ngram, MTP)
	case d.File != "" && d.How != MTP:
		return fmt.Errorf("is %q; a file with a layer that predicts goes with %s", d.How, MTP)
	}
	return nil
}

// Layer says where the MTP layer is, if drafts need it; nil: they do not. flag is the option that asked for
// it.
func (d Drafting) Layer(flag string) *Draft {
	if d.How != MTP {
		return nil
	}
	return &Draft{File: d.File, Flag: flag}
}

// Drafter returns a drafter for a session; nil without drafts.
func (d Drafting) Drafter(s *engine.Session) (engine.Drafter, error) {
	switch d.How {
	case Ngram:
		return draft.Default, nil
	case MTP:
		return s.Predictor()
	}
	return nil, nil
}

// Drafters returns a function that makes a drafter for each session of a scheduler; nil without drafts.
func (d Drafting) Drafters() func(*engine.Session) (engine.Drafter, error) {
	if d.How == "" {
		return nil
	}
	return d.Drafter
}
