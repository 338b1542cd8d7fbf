package paging

import (
	"fmt"

	"mla/runtime/plan"
)

// device simulates a device. In place of a cache row it keeps a hash of all tokens so far, so that a row
// which was overwritten, not copied or taken from another text has a wrong hash.
type device struct {
	cache  [][plan.PageRows]uint64
	tables map[*Sequence][]uint32
	queue  []job
}

// job is a list of orders that have not been done yet.
type job struct {
	sequence *Sequence
	orders   Orders
}

func newDevice(pages int) *device {
	return &device{cache: make([][plan.PageRows]uint64, pages), tables: map[*Sequence][]uint32{}}
}

func (d *device) order(s *Sequence, o Orders) { d.queue = append(d.queue, job{s, o}) }

// flush does all orders in sequence.
func (d *device) flush() {
	for _, j := range d.queue {
		for _, c := range j.orders.Copies {
			copy(d.cache[c.To][:c.Rows], d.cache[c.From][:c.Rows])
		}
		table := d.tables[j.sequence]
		for len(table) < j.orders.First+len(j.orders.Pages) {
			table = append(table, ^uint32(0))
		}
		copy(table[j.orders.First:], j.orders.Pages)
		d.tables[j.sequence] = table
	}
	d.queue = d.queue[:0]
}

// row returns the device's row of a sequence at a position.
func (d *device) row(s *Sequence, pos int) *uint64 {
	return &d.cache[d.tables[s][pos/plan.PageRows]][pos%plan.PageRows]
}

// run writes the rows of tokens. They follow the tokens before.
func (d *device) run(s *Sequence, before, tokens []int32) {
	hash := uint64(0)
	for _, t := range before {
		hash = mix(hash, t)
	}
	for i, t := range tokens {
		hash = mix(hash, t)
		*d.row(s, len(before)+i) = hash
	}
}

// attend reads the rows of all tokens, as attention does.
func (d *device) attend(s *Sequence, tokens []int32) error {
	hash := uint64(0)
	for pos, t := range tokens {
		hash = mix(hash, t)
		if got := *d.row(s, pos); got != hash {
			return fmt.Errorf("row %d of %d, in page %d, belongs to another text", pos, len(tokens), d.tables[s][pos/plan.PageRows])
		}
	}
	return nil
}

// tree checks the pages that the tree holds.
func (d *device) tree(n *node, hash uint64) error {
	for _, c := range n.children {
		h := hash
		for i, t := range c.tokens {
			h = mix(h, t)
			if d.cache[c.page][i] != h {
				return fmt.Errorf("row %d of page %d does not belong to its node's text", i, c.page)
			}
		}
		if err := d.tree(c, h); err != nil {
			return err
		}
	}
	return nil
}

// mix returns the next value of a hash that depends on order and length.
func mix(hash uint64, token int32) uint64 {
	hash = (hash ^ uint64(uint32(token)) + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
	return hash ^ hash>>29
}
