package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/text/sample"
)

// Picks picks tokens after several rows at once with the bundle's kernels on a Launcher. A round has a random
// number of sessions, each with its own parameters, accepted tokens and number of draws. After the rounds
// come as many texts, each with the next set of parameters and with logits of all kinds. Every token is
// picked a second time from the state that the kernels have left. Picks returns an error for the first token
// that differs from the one of runtime/text/sample, or the first row that does not belong to its token.
func Picks(l device.Launcher, b *plan.Bundle, rounds int) error {
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
	all := samplings(m.vocab)
	for _, p := range all[:min(rounds, len(all))] {
		if err := m.text(rng, p); err != nil {
			return fmt.Errorf("bundle %s, picks of a text, %+v: %w", b.Name, p, err)
		}
	}
	return nil
}

// text picks the tokens of a text, one after each row, with logits of one kind after the other. So the n-th
// draw uses the n-th kind of logits, which samplings relies on.
func (m *pickMemory) text(rng *rand.Rand, p sample.Params) error {
	s, err := sample.New(p)
	if err != nil {
		return err
	}
	for range 70 {
		s.Accept(int32(rng.IntN(20)))
	}
	var picks []device.Pick
	var want, then []int32
	for i, fill := range logitKinds {
		own := m.logitsOf(i)
		fill(rng, own)
		pick, err := s.Sampling().Pick(i, m.vocab)
		if err != nil {
			return err
		}
		next := pick
		next.Draw++
		picks, want, then = append(picks, pick), append(want, s.Next(own)), append(then, sample.Picked(&next, own))
		if want[i] >= 0 {
			s.Accept(want[i])
		}
	}
	return m.compare(picks, want, then)
}

// logitsOf returns the logits of a row.
func (m *pickMemory) logitsOf(row int) []float32 {
	values := unsafe.Slice((*float32)(unsafe.Pointer(&m.logits[0])), len(m.logits)/4)
	return values[row*m.vocab:][:m.vocab]
}

// pickMemory is the memory that the kernels run on.
type pickMemory struct {
	launcher       device.Launcher
	launches       []*device.Launch
	memory, logits []byte
	rows           []plan.Row
	layout         plan.PickLayout
	vocab          int
}

func newPickMemory(l device.Launcher, b *plan.Bundle) (*pickMemory, error) {
	m := &pickMemory{launcher: l, vocab: b.Model.VocabSize, layout: plan.PickLayoutOf(b.BatchRows(), b.Model.VocabSize, 1), rows: make([]plan.Row, 2*b.BatchRows())}
	if b.PickBytes < m.layout.Values || len(b.Pick) == 0 {
		return nil, fmt.Errorf("nothing picks tokens, or in only %d bytes", b.PickBytes)
	}
	m.memory, m.logits = make([]byte, b.PickBytes), make([]byte, 4*m.vocab*m.layout.Rows)
	for i := range b.Pick {
		d := &b.Pick[i]
		k := &b.Kernels[d.Kernel]
		launch := &device.Launch{Kernel: k, Variant: &k.Variants[0], Groups: k.Groups(), Threads: k.Threads}
		for _, o := range d.Operands {
			switch o.Space {
			case plan.SpacePick:
				launch.Buffers = append(launch.Buffers, m.memory[o.Offset:o.Offset+o.Bytes:o.Offset+o.Bytes])
			case plan.SpaceLogits:
				launch.Buffers = append(launch.Buffers, m.logits)
			case plan.SpaceRow:
				launch.Buffers = append(launch.Buffers, unsafe.Slice((*byte)(unsafe.Pointer(&m.rows[0])), len(m.rows)*int(unsafe.Sizeof(m.rows[0]))))
			default:
				return nil, fmt.Errorf("kernel %s, which picks, has an operand in space %d", k.Name, o.Space)
			}
		}
		m.launches = append(m.launches, launch)
	}
	return m, nil
}

// round picks once, after a random number of rows: in round 0 after the greatest number of rows, in round 1
// after one.
func (m *pickMemory) round(rng *rand.Rand, round int) error {
	all := samplings(m.vocab)
	n := 1 + rng.IntN(m.layout.Rows)
	switch round {
	case 0:
		n = m.layout.Rows
	case 1:
		n = 1
	}
	var picks []device.Pick
	var want, then []int32
	for i := range n {
		own := m.logitsOf(i)
		logitKinds[rng.IntN(len(logitKinds))](rng, own)
		p := all[(round*m.layout.Rows+i)%len(all)]
		s, pick, err := picked(rng, p, 2*i, m.vocab)
		if err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		if rng.IntN(2) == 0 {
			pick.Mask = allowed(rng, m.vocab)
			s.Allow(pick.Mask)
		}
		if pick.LogitsOnly = round > 1 && rng.IntN(8) == 0; pick.LogitsOnly {
			want, then = append(want, untouched), append(then, untouched)
		} else {
			want, then = append(want, s.Next(own)), append(then, s.Next(own))
		}
		picks = append(picks, pick)
	}
	return m.compare(picks, want, then)
}

// compare compares both the tokens that are picked and the tokens of the second pick with the sampler's.
func (m *pickMemory) compare(picks []device.Pick, want, then []int32) error {
	m.write(picks)
	if err := m.run(picks, [plan.PickTurns][]int32{want}); err != nil {
		return err
	}
	if err := m.run(picks, [plan.PickTurns][]int32{want, then}); err != nil {
		return fmt.Errorf("once more: %w", err)
	}
	return nil
}

// picked returns a sampler somewhere in its text, and the pick that replaces it on the device.
func picked(rng *rand.Rand, p sample.Params, row, vocab int) (*sample.Sampler, device.Pick, error) {
	s, err := sample.New(p)
	if err != nil {
		return nil, device.Pick{}, err
	}
	for range rng.IntN(100) {
		s.Accept(int32(rng.IntN(vocab + 2))) // some tokens are not in the vocabulary
	}
	for range rng.IntN(3) {
		s.Skip()
	}
	pick, err := s.Sampling().Pick(row, vocab)
	return s, pick, err
}

// allowed returns a mask of some tokens, from none to all. It may be shorter than the vocabulary.
func allowed(rng *rand.Rand, vocab int) []uint32 {
	list := make([]uint32, plan.MaskWords(vocab)-rng.IntN(2))
	switch rng.IntN(5) {
	case 0: // no token
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

// untouched fills the memory where no token is picked.
const untouched = 0x5a5a5a5a

// write fills the memory that the host fills, and the memory that the kernels must leave alone.
func (m *pickMemory) write(picks []device.Pick) {
	device.WritePicks(m.memory[:m.layout.Tokens], &m.layout, picks, m.vocab)
	tokens := m.memory[m.layout.Tokens:]
	for i := range plan.PickTurns * m.layout.Rows {
		binary.LittleEndian.PutUint32(tokens[4*i:], untouched)
	}
	for i := range m.rows {
		m.rows[i] = rowBefore(i)
	}
}

// rowBefore returns the contents of row i before a token is picked after it.
func rowBefore(i int) plan.Row {
	pos := uint32(100 * i)
	return plan.Row{Token: untouched, Pos: pos, NKV: pos + 1, Table: uint32(i)}
}

// run runs the kernels once. It compares the tokens of each turn so far, and the rows, with the expected
// ones.
func (m *pickMemory) run(picks []device.Pick, turns [plan.PickTurns][]int32) error {
	for _, l := range m.launches {
		if err := m.launcher.Launch(l); err != nil {
			return fmt.Errorf("kernel %s: %w", l.Kernel.Name, err)
		}
	}
	rows := make([]plan.Row, len(m.rows))
	for i := range rows {
		rows[i] = rowBefore(i)
	}
	for turn, want := range turns {
		for i, token := range device.PickTurn(m.memory[m.layout.Tokens:], turn, m.layout.Rows) {
			expected := int32(untouched)
			if i < len(want) {
				expected = want[i]
			}
			if int32(token) != expected {
				return fmt.Errorf("pick %d of %d: %d; expected %d (%+v)", i, len(picks), int32(token), expected, picks[min(i, len(picks)-1)].Sampling)
			}
			if expected != untouched && expected >= 0 {
				row := &rows[picks[i].Row]
				row.Token, row.Pos, row.NKV = token, row.Pos+1, row.NKV+1
			}
		}
	}
	for i := range rows {
		if m.rows[i] != rows[i] {
			return fmt.Errorf("row %d is %+v; expected %+v", i, m.rows[i], rows[i])
		}
	}
	return nil
}
