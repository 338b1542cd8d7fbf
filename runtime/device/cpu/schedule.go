package cpu

import "fmt"

// kernel is the CPU kernel of one part, bound to its memory. It can be cut into units, which are the part's
// threadgroups unless its file says otherwise. No two units of a phase write the same memory. The bits of a
// unit's results do not depend on which worker runs it.
type kernel interface {
	// size is the number of units, and roughly the bytes that one of them reads. A cost of 0 is unknown until
	// replay; then units are dealt one by one.
	size() (units, cost int)
	run(w *worker, lo, hi int)
}

// minChunk is the least cost of a chunk, so that dealing is cheap beside it: 16 KiB are read from memory in
// about a microsecond.
const minChunk = 16 << 10

// cut divides the parts of one phase into chunks. Chunks begin large and become smaller (guided
// self-scheduling): so there are few, and workers finish at almost the same time.
func cut(kernels []kernel, workers int) (phase, error) {
	var left float64
	for _, t := range kernels {
		units, cost := t.size()
		left += float64(units) * float64(cost)
	}
	var ph phase
	for _, t := range kernels {
		units, cost := t.size()
		for lo := 0; lo < units; {
			n := 1
			if cost > 0 {
				n = int(max(left/float64(2*workers), minChunk) / float64(cost))
			}
			n = min(max(n, 1), units-lo)
			ph = append(ph, chunk{t, lo, lo + n})
			lo += n
			left -= float64(n) * float64(cost)
			if len(ph) > maxChunks {
				return nil, fmt.Errorf("more than %d pieces of work between two barriers", maxChunks)
			}
		}
	}
	return ph, nil
}
