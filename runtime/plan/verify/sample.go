package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// PickBins and ScanBlock are BINS and BLOCK of the template sample.shared.
const (
	PickBins  = 1024
	ScanBlock = 256
)

// checkMaxBatch checks that Bundle.MaxBatch is 0 or more than the default.
func checkMaxBatch(most int) error {
	if most != 0 && (most <= plan.DefaultBatch || most > plan.LargestBatch) {
		return fmt.Errorf("batches of up to %d rows; expected %d to %d, or 0", most, plan.DefaultBatch+1, plan.LargestBatch)
	}
	return nil
}

// checkPick checks that every thread has whole bins, and that the template supports the number of blocks.
func checkPick(vocab, blocks, threads int) error {
	switch {
	case PickBins%threads != 0:
		return fmt.Errorf("%d threads pick a token; expected a divisor of %d", threads, PickBins)
	case blocks != ceil(vocab, ScanBlock):
		return fmt.Errorf("%d blocks of %d tokens; expected %d each", blocks, vocab, ScanBlock)
	}
	return nil
}
