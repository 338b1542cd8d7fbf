package grammar

import (
	"cmp"
	"math/rand/v2"
)

// Limits of probe.
const (
	probes    = 4
	probeWide = 24          // bytes of a maximally ambiguous text
	probeLong = 100         // bytes of a random text
	probeStep = maxWork / 4 // for one byte
	probeWork = maxWork * 8 // in total
)

// probe refuses a grammar that is too ambiguous. It advances by the byte that leads to the most states, and
// then by random texts.
func (c *Compiled) probe() error {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &prober{graph: c.graph, begin: c.begin, left: probeWork}
	var refused error
	err := p.limited(func() {
		refused = p.widest()
		for n := 0; n < probes && refused == nil; n++ {
			refused = p.text(rng)
		}
	})
	return cmp.Or(refused, err)
}

// prober steps through a graph, with the work of one mask for each step.
type prober struct {
	*graph
	begin []entry
	left  int
}

// probed is a step with limited work.
func (p *prober) probed(at *node, b byte) (*node, error) {
	p.work = maxWork
	next := p.step(at, b)
	used := maxWork - p.work
	if p.left -= used; used > probeStep {
		return nil, errWork
	}
	return next, nil
}

func (p *prober) widest() error {
	at := p.closure(p.begin)
	if at == p.dead {
		return fail("no text can begin: rules are nested more than %d deep before its first character", maxDepth)
	}
	for i := 0; i < probeWide && !at.stuck; i++ {
		widest := p.dead
		for b := range 256 {
			if b > 0 && p.classes[b] == p.classes[b-1] {
				continue
			}
			if p.left < 0 {
				return nil
			}
			next, err := p.probed(at, byte(b))
			if err != nil {
				return err
			}
			if len(next.entries) > len(widest.entries) || widest == p.dead {
				widest = next
			}
		}
		at = widest
	}
	return nil
}

func (p *prober) text(rng *rand.Rand) error {
	at := p.closure(p.begin)
	for i := 0; i < probeLong && !at.stuck; i++ {
		from, to := rng.IntN(256), p.dead
		for n := 0; n < 256 && to == p.dead; n++ {
			if p.left < 0 {
				return nil
			}
			next, err := p.probed(at, byte(from+n))
			if err != nil {
				return err
			}
			to = next
		}
		at = to
	}
	return nil
}
