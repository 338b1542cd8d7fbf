package engine

// Row is a token to be run at the end of a session's timeline.
type Row struct {
	Session *Session
	Token   int32
	Logits  bool // are wanted
}

// Width is how many rows one replay of the model runs.
func (m *Model) Width() int { return 1 }

// Step runs rows, of one session in their order, in as few replays as the model's width
// allows. Sessions must have pages for them (Reserve). logits is called for every row
// whose logits are wanted, with its number; what it gets is valid until it returns. It
// must not use the model.
func (m *Model) Step(rows []Row, logits func(i int, logits []float32)) error {
	for i, r := range rows {
		if err := r.Session.Run(r.Token, r.Logits); err != nil {
			return err
		}
		if r.Logits {
			logits(i, r.Session.logits)
		}
	}
	return nil
}
