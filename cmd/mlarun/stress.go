package main

import (
	"fmt"
	"time"

	"mla/runtime/doctor/checkup"
)

// stressDepth is how many tokens are in the context before the replayed one: enough for several splits of the
// attention, and for its matrix form.
const stressDepth = 40

// count writes the progress of a long stage, at most a few times per second.
func (x *examination) count(done, total int) {
	if time.Since(x.counted) > time.Second/5 {
		x.counted = time.Now()
		x.Write(checkup.Now, fmt.Sprintf("%d/%d", done, total), "")
	}
}

// stress replays a token of the model file many times and requires the same bits every time.
func (x *examination) stress() (err error) {
	f, replays := x.flags, x.flags.replays
	m, err := f.load(func(most int) int { return min(stressDepth+1, most) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	ctx, stop := interruptible()
	defer stop()
	vocab := m.engine.Bundle().Model.VocabSize
	tokens := make([]int32, m.Context()+1)
	for i := range tokens {
		tokens[i] = int32((7*i + 1) % vocab)
	}
	last := len(tokens) - 2
	start := time.Now()
	s, err := m.Stress(ctx, tokens[:last], [2]int32{tokens[last], tokens[last+1]}, replays, x.count)
	elapsed := time.Since(start)
	if s == nil {
		return err
	}
	x.Write(checkup.Fact, "stress", "%s", m.describe())
	x.Write(checkup.Note, "", "%d replays of two tokens in turns after %d others in %.1f s, %.1f µs each",
		s.Replays, last, elapsed.Seconds(), elapsed.Seconds()*1e6/float64(max(1, s.Replays)))
	bytes := 0
	for _, p := range s.Parts {
		bytes += p.Bytes
	}
	x.Write(checkup.Note, "", "compared bit by bit: %d bytes of each (%s to %s); %d differ", bytes, s.Parts[0].Name, s.Parts[len(s.Parts)-1].Name, s.Different)
	if s.First != nil {
		x.Write(checkup.Fail, "stress", "%s", s.First)
	} else if s.Replays >= leastReplays {
		x.Write(checkup.Pass, "stress", "%d replays with the same bits", s.Replays)
	}
	return err
}
