package cpu

import "fmt"

// kernel is the Go counterpart of one kernel part, bound to its memory. Units are
// what it can be cut into: threadgroups of the part, unless its file says
// otherwise. Every unit writes what no other unit of the phase touches, and its
// bits do not depend on which worker runs it, or with which others.
type kernel interface {
	// size is the number of units and the bytes that one of them reads, roughly;
	// 0 where that is known only at replay, so that units are dealt one by one.
	size() (units, cost int)
	run(w *worker, lo, hi int)
}

// minChunk is the cost below which a chunk is not worth the trouble of dealing
// it out: 16 KiB are read from memory in about a microsecond.
const minChunk = 16 << 10

// cut divides the parts of one phase into chunks. Chunks begin large and become
// smaller (guided self-scheduling), so that there are few of them and workers
// still finish at almost the same time.
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
