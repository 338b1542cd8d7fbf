package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/sample"
)

// Picks picks tokens behind several rows at once with the bundle's kernels on a Launcher:
// for as many sessions as a round has, each with parameters, accepted tokens and a number
// of draws of its own. It returns the first token that is not what runtime/sample picks.
func Picks(l Launcher, b *plan.Bundle, rounds int) error {
	m, err := newPickMemory(l, b)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range rounds {
		if err := m.round(rng, round); err != nil {
			return fmt.Errorf("bundle %s, picks, round %d: %w", b.Name, round, err)
		}
	}
	return nil
}

// pickMemory is what the kernels run on.
type pickMemory struct {
	launcher       Launcher
	launches       []*Launch
	memory, logits []byte
	layout         plan.PickLayout
	vocab          int
}

func newPickMemory(l Launcher, b *plan.Bundle) (*pickMemory, error) {
	m := &pickMemory{launcher: l, vocab: b.Model.VocabSize, layout: plan.PickLayoutOf(b.Model.VocabSize, 1)}
	if b.PickBytes < m.layout.Values || len(b.Pick) == 0 {
		return nil, fmt.Errorf("nothing picks behind several rows, or in only %d bytes", b.PickBytes)
	}
	m.memory, m.logits = make([]byte, b.PickBytes), make([]byte, 4*m.vocab*plan.MaxWanted)
	for i := range b.Pick {
		d := &b.Pick[i]
		k := &b.Kernels[d.Kernel]
		launch := &Launch{Kernel: k, Variant: &k.Variants[0], Groups: k.Groups(), Threads: k.Threads}
		for _, o := range d.Operands {
			switch o.Space {
			case plan.SpacePick:
				launch.Buffers = append(launch.Buffers, m.memory[o.Offset:o.Offset+o.Bytes:o.Offset+o.Bytes])
			case plan.SpaceLogits:
				launch.Buffers = append(launch.Buffers, m.logits)
			default:
				return nil, fmt.Errorf("kernel %s, which picks, has an operand in space %d", k.Name, o.Space)
			}
		}
		m.launches = append(m.launches, launch)
	}
	return m, nil
}

// round picks once, behind a random number of rows; round 0 behind as many as there can be,
// round 1 behind one.
func (m *pickMemory) round(rng *rand.Rand, round int) error {
	all := samplings(m.vocab)
	n := 1 + rng.IntN(plan.MaxWanted)
	switch round {
	case 0:
		n = plan.MaxWanted
	case 1:
		n = 1
	}
	var picks []device.Pick
	var want []int32
	values := unsafe.Slice((*float32)(unsafe.Pointer(&m.logits[0])), len(m.logits)/4)
	for i := range n {
		own := values[i*m.vocab:][:m.vocab]
		logitKinds[rng.IntN(len(logitKinds))](rng, own)
		p := all[(round*plan.MaxWanted+i)%len(all)]
		s, pick, err := picked(rng, p, i, m.vocab)
		if err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		if rng.IntN(2) == 0 {
			pick.Mask = allowed(rng, m.vocab)
			s.Allow(pick.Mask)
		}
		if pick.LogitsOnly = round > 1 && rng.IntN(8) == 0; pick.LogitsOnly {
			want = append(want, untouched)
		} else {
			want = append(want, s.Next(own))
		}
		picks = append(picks, pick)
	}
	got, err := m.run(picks)
	if err != nil {
		return err
	}
	for i, token := range got {
		expected := int32(untouched)
		if i < len(want) {
			expected = want[i]
		}
		if token != expected {
			return fmt.Errorf("pick %d of %d: %d; expected %d (%+v)", i, n, token, expected, picks[min(i, len(picks)-1)].Sampling)
		}
	}
	return nil
}

// picked is a sampler somewhere in its text, and what picks in its place.
func picked(rng *rand.Rand, p sample.Params, row, vocab int) (*sample.Sampler, device.Pick, error) {
	s, err := sample.New(p)
	if err != nil {
		return nil, device.Pick{}, err
	}
	for range rng.IntN(100) {
		s.Accept(int32(rng.IntN(vocab + 2))) // some are not in the vocabulary
	}
	for range rng.IntN(3) {
		s.Skip()
	}
	pick, err := s.Sampling().Pick(row, vocab)
	return s, pick, err
}

// allowed is a mask of some tokens, from none to all, and may be shorter than the vocabulary.
func allowed(rng *rand.Rand, vocab int) []uint32 {
	list := make([]uint32, plan.MaskWords(vocab)-rng.IntN(2))
	switch rng.IntN(5) {
	case 0: // nothing
	case 1:
		if len(list) > 0 {
			list[rng.IntN(len(list))] = 1 << rng.IntN(32)
		}
	case 2:
		for i := range list {
			list[i] = math.MaxUint32
		}
	default:
		for i := range list {
			list[i] = rng.Uint32() & rng.Uint32()
		}
	}
	return list
}

// untouched is what is where no token is picked.
const untouched = 0x5a5a5a5a

// run runs the kernels once. It returns the tokens of all picks that there could be.
func (m *pickMemory) run(picks []device.Pick) ([]int32, error) {
	device.WritePicks(m.memory[:m.layout.Tokens], picks, m.vocab)
	tokens := m.memory[m.layout.Tokens:]
	for i := range plan.MaxWanted {
		binary.LittleEndian.PutUint32(tokens[4*i:], untouched)
	}
	for _, l := range m.launches {
		if err := m.launcher.Launch(l); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", l.Kernel.Name, err)
		}
	}
	out := make([]int32, plan.MaxWanted)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(tokens[4*i:]))
	}
	return out, nil
}
