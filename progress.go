package mla

// Progress is how far something has come that takes long.
type Progress struct {
	Stage       Stage
	Done, Total int64
}

// Stage is what takes long.
type Stage string

// The stages of a model, and of a text.
const (
	Downloading Stage = "download" // bytes of the model's files, from the hub
	Loading     Stage = "load"     // bytes of the weights, to the device
	Prompting   Stage = "prompt"   // tokens of the prompt
)

// tell passes progress on.
func tell[N int | int64](to func(Progress), stage Stage) func(done, total N) {
	if to == nil {
		return nil
	}
	return func(done, total N) { to(Progress{stage, int64(done), int64(total)}) }
}
