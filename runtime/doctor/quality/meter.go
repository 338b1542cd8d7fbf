package quality

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Meter takes the logits of a text's positions, in order. It computes the perplexity, saves the logits and
// compares them with saved ones, as requested. With a large vocabulary this takes longer than a GPU needs to
// run a token, so positions are processed in parallel, one per core. The results do not depend on the number
// of cores.
type Meter struct {
	Perplexity
	saved *Saved
	base  *Base
	batch []*position
	full  int // positions in batch
	count int // positions that have been added
}

// NewMeter returns a Meter for logits of a vocabulary. It writes to saved and compares with base unless they
// are nil.
func NewMeter(vocab int, saved *Saved, base *Base) *Meter {
	m := &Meter{saved: saved, base: base}
	for range runtime.GOMAXPROCS(0) {
		p := &position{logits: make([]float32, vocab), lp: make([]float64, vocab)}
		if saved != nil {
			p.row = make([]byte, rowBytes(vocab))
		}
		if base != nil {
			p.record, p.base.lp = base.file.Buffer(), make([]float64, vocab)
		}
		m.batch = append(m.batch, p)
	}
	return m
}

// Add takes the logits of the next position, which token next follows. It copies them.
func (m *Meter) Add(next int32, logits []float32) error {
	p := m.batch[m.full]
	if len(logits) != len(p.logits) || next < 0 || int(next) >= len(logits) {
		return fmt.Errorf("%d logits and token %d; expected %d logits", len(logits), next, len(p.logits))
	}
	p.next = next
	copy(p.logits, logits)
	if m.full++; m.full < len(m.batch) {
		return nil
	}
	return m.Flush()
}

// Flush processes all positions that Add has taken.
func (m *Meter) Flush() error {
	batch := m.batch[:m.full]
	m.full = 0
	var all sync.WaitGroup
	for i, p := range batch {
		all.Go(func() { p.err = m.work(p, m.count+i) })
	}
	all.Wait()
	for _, p := range batch {
		if p.err != nil {
			return fmt.Errorf("position %d of those that count: %w", m.count, p.err)
		}
		m.Perplexity.Add(-p.lp[p.next])
		if m.saved != nil {
			if err := m.saved.file.Write(p.row); err != nil {
				return err
			}
		}
		if m.base != nil {
			m.base.add(p)
		}
		m.count++
	}
	return nil
}

// position holds the logits of a position during processing, and the buffers for it.
type position struct {
	next   int32
	logits []float32
	lp     []float64
	best   int
	row    []byte // to be saved
	record []byte // read from the base
	base   savedRow
	kl     float64
	err    error
}

// work does the part of the processing that is independent of other positions.
func (m *Meter) work(p *position, i int) error {
	if err := logProbs(p.lp, p.logits); err != nil {
		return err
	}
	p.best = Best(p.logits)
	if m.saved != nil {
		encodeRow(p.row, p.lp, p.best, p.next)
	}
	if m.base == nil {
		return nil
	}
	record, err := m.base.file.Read(i, p.record)
	if err == nil {
		err = p.base.decode(record)
	}
	if err == nil {
		p.kl = divergence(p.base.lp, p.lp)
	}
	return err
}

// maxGap bounds the gap of a token whose probability is 0, which would otherwise make a divergence infinite.
const maxGap = 1e4

// divergence returns the Kullback-Leibler divergence of got from want. Both are given as ln p.
func divergence(want, got []float64) float64 {
	kl := 0.0
	for i, lp := range want {
		kl += math.Exp(lp) * (lp - max(got[i], lp-maxGap))
	}
	return max(kl, 0) // negative only by rounding
}
