package verify

import "fmt"

// PickBins and ScanBlock are BINS and BLOCK of the template sample.shared.
const (
	PickBins  = 1024
	ScanBlock = 256
)

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
