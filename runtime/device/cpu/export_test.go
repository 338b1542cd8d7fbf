package cpu

// RunInBatches lets few rows run in batches at any depth, until it is undone.
func RunInBatches() (undo func()) {
	before := leastShared
	leastShared = 0
	return func() { leastShared = before }
}
