package describe

import (
	"fmt"
	"io"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// usualContext is the number of tokens of cache that a model is loaded with unless -c says otherwise.
const usualContext = 4096

// Memory is the memory that a model needs, and which Macs have it.
type Memory struct {
	WeightBytes int64 `json:"weight_bytes"`
	CacheBytes  int64 `json:"cache_bytes"` // of usualContext tokens
	BufferBytes int64 `json:"buffer_bytes"`
	// LeastMac is the smallest memory of a Mac, in GiB, whose GPU may use as much by default. LeastWithLimit
	// is the same with a raised iogpu.wired_limit_mb. 0: there is no such Mac.
	LeastMac       int `json:"least_mac_gib"`
	LeastWithLimit int `json:"least_mac_with_limit_gib"`
}

// memory returns the memory that the model needs under a profile.
func memory(b *plan.Bundle, p *plan.Profile, r *Report) (m Memory) {
	for i := range b.Weights {
		w := &b.Weights[i]
		for l := range max(1, w.Last-w.First) {
			f, ok := quant.Lookup(p.At(i, l))
			if !ok {
				continue
			}
			if n, err := f.RowBytes(w.Cols); err == nil {
				m.WeightBytes += int64(n) * int64(w.Rows) * int64(w.Batch)
			}
		}
	}
	m.CacheBytes = r.KVBytesPerContextToken * int64(min(usualContext, b.Model.MaxPositionEmbeddings))
	m.BufferBytes = r.Widths[len(r.Widths)-1].ArenaBytes
	m.LeastMac, m.LeastWithLimit = target.LeastMac(m.WeightBytes + m.CacheBytes + m.BufferBytes)
	return m
}

// print writes the memory that the model needs.
func (m *Memory) print(w io.Writer) error {
	const gb = 1e9
	text := fmt.Sprintf("memory: %.1f GB of weights, %.2f GB of cache for %d tokens; ", float64(m.WeightBytes)/gb, float64(m.CacheBytes)/gb, usualContext)
	switch {
	case m.LeastWithLimit == 0:
		text += "no Mac has it"
	case m.LeastMac == m.LeastWithLimit:
		text += fmt.Sprintf("a Mac with %d GB or more", m.LeastMac)
	case m.LeastMac == 0:
		text += fmt.Sprintf("a Mac with %d GB, where iogpu.wired_limit_mb is raised", m.LeastWithLimit)
	default:
		text += fmt.Sprintf("a Mac with %d GB or more, or with %d GB where iogpu.wired_limit_mb is raised", m.LeastMac, m.LeastWithLimit)
	}
	_, err := fmt.Fprintln(w, text+"\n")
	return err
}
