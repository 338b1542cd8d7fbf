package sample

import "slices"

// recent counts the last accepted tokens.
type recent struct {
	limit int     // how many tokens count; -1: all
	ring  []int32 // the last tokens, if there is a limit
	next  int     // place of the oldest token in a full ring
	seen  []occurrences
}

// occurrences is a token and how often it occurs among the recent ones.
type occurrences struct{ id, count int32 }

func (r *recent) add(id int32) {
	if r.limit == 0 || id < 0 {
		return
	}
	switch {
	case r.limit < 0:
	case len(r.ring) < r.limit:
		r.ring = append(r.ring, id)
	default:
		r.remove(r.ring[r.next])
		r.ring[r.next] = id
		r.next = (r.next + 1) % r.limit
	}
	if i := r.find(id); i >= 0 {
		r.seen[i].count++
		return
	}
	r.seen = append(r.seen, occurrences{id, 1})
}

func (r *recent) remove(id int32) {
	i := r.find(id)
	if r.seen[i].count--; r.seen[i].count == 0 {
		last := len(r.seen) - 1
		r.seen[i] = r.seen[last]
		r.seen = r.seen[:last]
	}
}

// find returns the place of a token in seen, or -1. A linear search is enough:
// windows are short, and a whole context takes microseconds.
func (r *recent) find(id int32) int {
	return slices.IndexFunc(r.seen, func(o occurrences) bool { return o.id == id })
}

func (r *recent) clear() {
	r.ring, r.next, r.seen = r.ring[:0], 0, r.seen[:0]
}
