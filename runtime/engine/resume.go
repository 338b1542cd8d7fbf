package engine

// resumed is a sampler that has accepted the first tokens of a text before.
type resumed struct {
	Sampler
	known int
}

// Resumed is a sampler for a text of which s has accepted the first known tokens already: the
// text goes on with another model, say. A device cannot stand in for it.
func Resumed(s Sampler, known int) Sampler { return &resumed{s, known} }

// Accept passes on the tokens after those that are known.
func (r *resumed) Accept(token int32) {
	if r.known > 0 {
		r.known--
		return
	}
	r.Sampler.Accept(token)
}
