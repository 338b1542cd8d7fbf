package quality

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Meter takes in the logits of a text's positions, in order: it adds up the perplexity,
// saves the logits and compares them with others, as far as that is wanted. With a large
// vocabulary that takes longer than a GPU takes to run a token, so positions are worked on
// side by side, one per core. What comes out does not depend on how many there are.
type Meter struct {
	Perplexity
	saved *Saved
	base  *Base
	batch []*position
	full  int // of batch
	count int // positions that were added up
}

// NewMeter is a Meter for logits of a vocabulary, which writes to saved and compares with
// base unless they are nil.
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

// Add takes in the logits of the next position, which token next follows. It copies them.
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

// Flush works off what has been taken in.
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

// position is logits on their way, with all the memory that takes.
type position struct {
	next   int32
	logits []float32
	lp     []float64
	best   int
	row    []byte // to be saved
	record []byte // of the base
	base   savedRow
	kl     float64
	err    error
}

// work does what needs no other position.
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

// maxGap keeps a token whose probability is 0 from making a divergence infinite.
const maxGap = 1e4

// divergence is that of probabilities from those of want, all as ln p.
func divergence(want, got []float64) float64 {
	kl := 0.0
	for i, lp := range want {
		kl += math.Exp(lp) * (lp - max(got[i], lp-maxGap))
	}
	return max(kl, 0) // it is not negative but for rounding
}
