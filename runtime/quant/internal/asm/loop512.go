package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format512 describes the AVX-512 loop of one format.
type format512 struct {
	name         string
	elems, bytes int // of a step: a block, or a run of one-element blocks
	// begin emits the loading of constants and returns what emits one step.
	begin  func(g *gen, rows int) func(l *loop512)
	single bool // one row at a time is as fast: the weights outweigh x
}

// loop512 is the state of the loop over the steps of some rows.
type loop512 struct {
	*gen
	x    reg.Register // x of this step
	rows []sums512
}

// sums512 is one row of a loop512: its block of this step and its running sums.
type sums512 struct {
	block reg.Register
	sum   [2]reg.VecVirtual // two, to hide the latency of the additions
}

// row512 emits the function that takes one row.
func (g *gen) row512(f format512) {
	name := fmt.Sprintf("dot%sAVX512", f.name)
	g.begin(name, signatureRow, fmt.Sprintf("%s is the rowFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop512{gen: g, x: g.param("x")}
	l.addRow(g.param("w"))
	l.run(f, nil)
	g.Store(g.sumRow(l.rows[0]), g.ReturnIndex(0))
	g.end()
}

// rows512 emits the function that takes four rows. It forms the sum of a row in
// the same order as row512.
func (g *gen) rows512(f format512) {
	name := fmt.Sprintf("dot%sx4AVX512", f.name)
	g.begin(name, signatureRows, fmt.Sprintf("%s is the rowsFunc of %s in steps of %d elements.", name, f.name, f.elems))
	l := &loop512{gen: g, x: g.param("x")}
	block, stride := g.param("w"), g.param("stride")
	l.addRow(block)
	for range 3 {
		next := g.GP64()
		g.LEAQ(operand.Mem{Base: block, Index: stride, Scale: 1}, next)
		l.addRow(next)
		block = next
	}
	l.run(f, stride)
	y := g.param("y")
	for r, row := range l.rows {
		g.VMOVSS(g.sumRow(row), at(y, 4*r))
	}
	g.end()
}

// addRow adds the row that begins at block.
func (l *loop512) addRow(block reg.Register) {
	row := sums512{block: block, sum: [2]reg.VecVirtual{l.ZMM(), l.ZMM()}}
	l.VXORPS(row.sum[0], row.sum[0], row.sum[0])
	l.VXORPS(row.sum[1], row.sum[1], row.sum[1])
	l.rows = append(l.rows, row)
}

// run emits the loop. With a stride it prefetches the rows to come.
func (l *loop512) run(f format512, stride reg.Register) {
	steps := l.param("steps")
	step := f.begin(l.gen, len(l.rows))
	l.Label("step")
	if stride != nil {
		l.prefetch(stride, f.bytes)
	}
	step(l)
	for _, row := range l.rows {
		l.ADDQ(operand.U32(f.bytes), row.block)
	}
	l.ADDQ(operand.U32(4*f.elems), l.x)
	l.DECQ(steps)
	l.JNZ(operand.LabelRef("step"))
}

// sumRow returns a register with the sum of a row lowest.
func (g *gen) sumRow(row sums512) reg.VecVirtual {
	g.VADDPS(row.sum[1], row.sum[0], row.sum[0])
	return g.sumZMM(row.sum[0])
}

// prefetch asks for the blocks of this step in the next four rows. Four rows at
// once are not a stream that the hardware would follow, and without this the
// formats with many bytes per weight run at half their speed. Past the last row
// the hint is void: a prefetch never faults.
func (l *loop512) prefetch(stride reg.Register, bytes int) {
	for _, row := range l.rows {
		for line := 0; line < bytes; line += 64 {
			l.PREFETCHT0(operand.Mem{Base: row.block, Index: stride, Scale: 4, Disp: line})
		}
	}
}

// loadX loads n vectors of x, from vector first of this step on. The rows share them.
func (l *loop512) loadX(first, n int) []reg.VecVirtual {
	xs := make([]reg.VecVirtual, n)
	for i := range xs {
		xs[i] = l.ZMM()
		l.VMOVUPS(at(l.x, 64*(first+i)), xs[i])
	}
	return xs
}

// add adds w·x to running sum i.
func (l *loop512) add(row sums512, i int, w, x reg.Register) {
	l.VFMADD231PS(x, w, row.sum[i%2])
}

// load512 loads 64 bytes of constants.
func (g *gen) load512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VMOVUPS(m, v)
	return v
}

// table512 loads the 16 entries of a table.
func (g *gen) table512(t *table) reg.VecVirtual {
	return g.load512(g.floats(t.name, t.values[:]...))
}

// half512 returns the half at m in every lane.
func (g *gen) half512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPBROADCASTW(m, v.AsX())
	g.VCVTPH2PS(v.AsX(), v.AsX())
	g.VBROADCASTSS(v.AsX(), v)
	return v
}

// bytes512 returns the 16 bytes at m, zero-extended to dwords.
func (g *gen) bytes512(m operand.Mem) reg.VecVirtual {
	v := g.ZMM()
	g.VPMOVZXBD(m, v)
	return v
}

// lookup returns table[low nibble of each dword of index]: VPERMPS ignores the
// higher bits of the index. Where the mask has a bit, upper serves instead.
func (g *gen) lookup(table, index reg.Register, upper reg.Register, mask reg.Register) reg.VecVirtual {
	w := g.ZMM()
	g.VPERMPS(table, index, w)
	if mask != nil {
		g.VPERMPS(upper, index, mask, w)
	}
	return w
}
