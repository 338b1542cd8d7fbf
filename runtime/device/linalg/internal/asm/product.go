package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// productShape is the block of the result that a loop keeps in registers. For each term of
// the sums, the loop loads the vectors of a row of b once, and broadcasts one number of a per
// row. With enough rows there are at least eight running sums, which hide the latency of the
// additions.
type productShape struct{ rows, vectors int }

var (
	shapes512 = []productShape{{4, 4}, {1, 4}, {16, 1}, {4, 1}, {1, 1}}
	shapes2   = []productShape{{6, 2}, {4, 2}, {2, 2}, {1, 2}}
)

// signatureProduct is the signature of the Go type productFunc.
const signatureProduct = "func(c *float32, cRow int, a *float32, aRow, aCol int, b *float32, bRow, n, k int)"

// productLoop emits the function that adds a product of matrices to some rows of c.
func (g *gen) productLoop(v isa, s productShape) {
	cols := s.vectors * v.lanes
	name := fmt.Sprintf("product%dx%d%s", s.rows, cols, v.suffix)
	g.begin(name, signatureProduct, fmt.Sprintf("%s is the productFunc of %d rows and multiples of %d columns.", name, s.rows, cols))
	c, b, n := g.param("c"), g.param("b"), g.param("n")
	cRow, bRow := g.param("cRow"), g.param("bRow")
	a := g.rowsOf("a", s.rows)
	aCol := g.param("aCol")

	g.Label("columns")
	sums := make([][]reg.VecVirtual, s.rows)
	row := g.copyOf(c)
	for i := range sums {
		sums[i] = g.loadRow(v, row, s.vectors)
		g.ADDQ(cRow, row)
	}
	a.rewind()
	bTerm, k := g.copyOf(b), g.param("k")

	g.Label("terms")
	xs := g.loadRow(v, bTerm, s.vectors)
	for i := range sums {
		f := v.vector(g)
		g.VBROADCASTSS(a.at(i), f)
		for j, x := range xs {
			g.VFMADD231PS(x, f, sums[i][j])
		}
	}
	for _, base := range a.bases {
		g.ADDQ(aCol, base)
	}
	g.ADDQ(bRow, bTerm)
	g.DECQ(k)
	g.JNZ(operand.LabelRef("terms"))

	g.MOVQ(c, row)
	for i := range sums {
		for j, sum := range sums[i] {
			g.VMOVUPS(sum, at(row, 4*v.lanes*j))
		}
		g.ADDQ(cRow, row)
	}
	g.ADDQ(operand.U32(4*cols), c)
	g.ADDQ(operand.U32(4*cols), b)
	g.SUBQ(operand.U32(cols), n)
	g.JNZ(operand.LabelRef("columns"))
	g.end()
}

// copyOf returns a new register with the value of r.
func (g *gen) copyOf(r reg.Register) reg.GPVirtual {
	p := g.GP64()
	g.MOVQ(r, p)
	return p
}

// loadRow loads n consecutive vectors at p.
func (g *gen) loadRow(v isa, p reg.Register, n int) []reg.VecVirtual {
	xs := make([]reg.VecVirtual, n)
	for i := range xs {
		xs[i] = v.vector(g)
		g.VMOVUPS(at(p, 4*v.lanes*i), xs[i])
	}
	return xs
}

// rows addresses one element in each of several equidistant rows. An x86 address adds an index
// register times 1, 2, 4 or 8. Rows 0 to 3 are base, base + stride, base + 2·stride and base +
// three, so four rows share a base.
type rows struct {
	*gen
	name          string
	bases         []reg.Register
	stride, three reg.Register // distance of two rows in bytes, and three times the distance
}

// rowsOf prepares n rows. The function's argument called name has the address of the first row, and
// the argument name+"Row" the distance of two rows.
func (g *gen) rowsOf(name string, n int) *rows {
	r := &rows{gen: g, name: name}
	for range (n + 3) / 4 {
		r.bases = append(r.bases, g.GP64())
	}
	if n > 1 {
		r.stride, r.three = g.param(name+"Row"), g.GP64()
		g.LEAQ(operand.Mem{Base: r.stride, Index: r.stride, Scale: 2}, r.three)
	}
	return r
}

// rewind goes back to the first element of every row.
func (r *rows) rewind() {
	r.Load(r.Param(r.name), r.bases[0])
	for i, base := range r.bases[1:] {
		r.LEAQ(operand.Mem{Base: r.bases[i], Index: r.stride, Scale: 4}, base)
	}
}

// at returns the memory of the current element of row i.
func (r *rows) at(i int) operand.Mem {
	m := operand.Mem{Base: r.bases[i/4]}
	switch i % 4 {
	case 1, 2:
		m.Index, m.Scale = r.stride, uint8(i%4)
	case 3:
		m.Index, m.Scale = r.three, 1
	}
	return m
}
