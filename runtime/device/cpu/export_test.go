package cpu

// RunInBatches makes few rows run in batches at any depth. The returned function undoes this.
func RunInBatches() (undo func()) {
	before := leastShared
	leastShared = 0
	return func() { leastShared = before }
}
