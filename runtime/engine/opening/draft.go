package opening

import (
	"fmt"

	"mla/runtime/engine"
	"mla/runtime/engine/draft"
)

// The ways to draft tokens that are run in one batch with the one before them.
const (
	Ngram = "ngram" // as the text went on where its last tokens stood before
	MTP   = "mtp"   // by the model's layer that predicts the token after next
)

// Drafting is how drafts are made: one of the ways, "" without drafts, and the file with the layer
// for MTP, "" if the model's has it.
type Drafting struct{ How, File string }

// Check looks at what a user asks for.
func (d Drafting) Check() error {
	switch {
	case d.How != "" && d.How != Ngram && d.How != MTP:
		return fmt.Errorf("is %q; expected %s or %s", d.How, Ngram, MTP)
	case d.File != "" && d.How != MTP:
		return fmt.Errorf("is %q; a file with a layer that predicts goes with %s", d.How, MTP)
	}
	return nil
}

// Layer says where the layer that predicts is, if drafts want it. flag is what asked for it.
func (d Drafting) Layer(flag string) *Draft {
	if d.How != MTP {
		return nil
	}
	return &Draft{File: d.File, Flag: flag}
}

// Drafter drafts for a session; nil without drafts.
func (d Drafting) Drafter(s *engine.Session) (engine.Drafter, error) {
	switch d.How {
	case Ngram:
		return draft.Default, nil
	case MTP:
		return s.Predictor()
	}
	return nil, nil
}

// Drafters makes a drafter for each session of a scheduler; nil without drafts.
func (d Drafting) Drafters() func(*engine.Session) (engine.Drafter, error) {
	if d.How == "" {
		return nil
	}
	return d.Drafter
}
