package main

import (
	"fmt"
	"time"
)

// stressDepth is how many tokens are in the context before the one that is replayed:
// enough for several splits of the attention, and for its matrix form.
const stressDepth = 40

// stress replays a token of the model file again and again and wants the same bits
// every time.
func (x *examination) stress(f *flags, replays int) (err error) {
	m, err := f.load(func(most int) int { return min(stressDepth+1, most) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	ctx, stop := interruptible()
	defer stop()
	bar := f.progress("stress")
	defer bar.clear()
	vocab := m.engine.Bundle().Model.VocabSize
	tokens := make([]int32, m.Context()+1)
	for i := range tokens {
		tokens[i] = int32((7*i + 1) % vocab)
	}
	last := len(tokens) - 2
	start := time.Now()
	s, err := m.Stress(ctx, tokens[:last], [2]int32{tokens[last], tokens[last+1]}, replays, bar.count)
	elapsed := time.Since(start)
	bar.clear()
	if s == nil {
		return err
	}
	fmt.Fprintf(x.out, "\nstress: %s\n%d replays of two tokens in turns behind %d others in %.1f s, %.1f µs each\ncompared bit by bit: ",
		m.setup(), s.Replays, last, elapsed.Seconds(), elapsed.Seconds()*1e6/float64(max(1, s.Replays)))
	bytes := 0
	for _, p := range s.Parts {
		bytes += p.Bytes
	}
	fmt.Fprintf(x.out, "%d bytes of each (%s to %s); %d differ\n", bytes, s.Parts[0].Name, s.Parts[len(s.Parts)-1].Name, s.Different)
	if s.First != nil {
		fmt.Fprintf(x.out, "FAILED: %s\n", s.First)
		x.sick++
	}
	return err
}
