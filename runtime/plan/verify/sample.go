package verify

import "fmt"

// PickBins and ScanBlock are BINS and BLOCK of the template sample.shared.
const (
	PickBins  = 1024
	ScanBlock = 256
)

// checkPick wants whole bins for each thread, and blocks that the template knows.
func checkPick(vocab, blocks, threads int) error {
	switch {
	case PickBins%threads != 0:
		return fmt.Errorf("%d threads pick a token; expected a divisor of %d", threads, PickBins)
	case blocks != ceil(vocab, ScanBlock):
		return fmt.Errorf("%d blocks of %d tokens; expected %d each", blocks, vocab, ScanBlock)
	}
	return nil
}
