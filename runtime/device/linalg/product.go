package linalg

import "fmt"

// Matrix is a view of float32 numbers: element (i, j) is Data[i·Row + j·Col].
type Matrix struct {
	Data       []float32
	Rows, Cols int
	Row, Col   int // distance between two rows, and between two columns, in elements
}

// ProductCols divides the numbers of columns for which assembly computes the whole product.
const ProductCols = 16

// check panics unless Data holds all elements, because the assembly does not check bounds.
func (m *Matrix) check() {
	if m.Rows < 0 || m.Cols < 0 || m.Row < 0 || m.Col < 0 {
		panic(fmt.Sprintf("linalg: matrix of %d × %d, %d and %d apart", m.Rows, m.Cols, m.Row, m.Col))
	}
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	left := len(m.Data) - 1
	if left < 0 || m.Row > 0 && m.Rows-1 > left/m.Row || m.Col > 0 && m.Cols-1 > (left-(m.Rows-1)*m.Row)/m.Col {
		panic(fmt.Sprintf("linalg: matrix of %d × %d, %d and %d apart, does not fit in %d floats",
			m.Rows, m.Cols, m.Row, m.Col, len(m.Data)))
	}
}

// productFunc adds a·b to c, for its productLoop's number of rows, a multiple n of its number of columns, and
// k ≥ 1 terms each. Distances are in bytes; the columns of b and c are 4 bytes apart.
type productFunc func(c *float32, cRow int, a *float32, aRow, aCol int, b *float32, bRow, n, k int)

// productLoop is a productFunc and the shape it works on.
type productLoop struct {
	rows, cols int
	run        productFunc
}

// AddProduct adds the matrix product a·b to c, which must not overlap them. The columns of b and c must be 1
// apart. The sum of an element begins with c and adds the terms in order. Its bits depend only on its row of
// a and its column of b and c. AddProduct panics if the sizes do not match, or a matrix is longer than its
// Data.
func AddProduct(c, a, b *Matrix) {
	c.check()
	a.check()
	b.check()
	if c.Rows != a.Rows || a.Cols != b.Rows || b.Cols != c.Cols || b.Col != 1 || c.Col != 1 {
		panic(fmt.Sprintf("linalg: product of %d × %d and %d × %d into %d × %d, columns %d and %d apart",
			a.Rows, a.Cols, b.Rows, b.Cols, c.Rows, c.Cols, b.Col, c.Col))
	}
	if a.Cols == 0 {
		return
	}
	j := 0 // columns before j are complete
	for loops := active.Load().products; len(loops) > 0; {
		cols := loops[0].cols
		n := (c.Cols - j) / cols * cols
		i := 0
		for ; len(loops) > 0 && loops[0].cols == cols; loops = loops[1:] {
			for rows := loops[0].rows; n > 0 && i+rows <= c.Rows; i += rows {
				loops[0].run(&c.Data[i*c.Row+j], 4*c.Row, &a.Data[i*a.Row], 4*a.Row, 4*a.Col, &b.Data[j], 4*b.Row, n, a.Cols)
			}
		}
		j += n
	}
	addProductGo(c, a, b, j)
}

// addProductGo computes the columns from j on.
func addProductGo(c, a, b *Matrix, j int) {
	if j == c.Cols {
		return
	}
	for i := range c.Rows {
		sum := c.Data[i*c.Row+j : i*c.Row+c.Cols]
		for k := range a.Cols {
			f, row := a.Data[i*a.Row+k*a.Col], b.Data[k*b.Row+j:k*b.Row+b.Cols]
			row = row[:len(sum)]
			for l := range sum {
				sum[l] += f * row[l]
			}
		}
	}
}
