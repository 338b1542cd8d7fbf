package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomMatrix returns rows × cols random floats, the rows a little apart, or,
// transposed, the columns.
func randomMatrix(r *rand.Rand, rows, cols int, transposed bool) *Matrix {
	m := &Matrix{Rows: rows, Cols: cols, Row: cols + 3, Col: 1}
	if transposed {
		m.Row, m.Col = 1, rows+2
	}
	if rows > 0 && cols > 0 {
		m.Data = randomFloats(r, (rows-1)*m.Row+(cols-1)*m.Col+1)
	}
	return m
}

// at returns element (i, j).
func (m *Matrix) at(i, j int) float32 { return m.Data[i*m.Row+j*m.Col] }

// productSizes reach past every shape of the assembly, in rows and columns.
var productSizes = struct{ rows, cols, terms []int }{
	rows:  []int{0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 21, 32, 37},
	cols:  []int{0, 1, 15, 16, 17, 32, 63, 64, 65, 80, 144, 150},
	terms: []int{0, 1, 2, 31},
}

// TestAddProduct checks against exact sums, for either order of a. Each term is rounded once or twice, and so
// is every partial sum.
func TestAddProduct(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		r := rand.New(rand.NewPCG(5, 1))
		for _, rows := range productSizes.rows {
			for _, cols := range productSizes.cols {
				for _, terms := range productSizes.terms {
					transposed := (rows+cols+terms)%2 == 0
					a, b, c := randomMatrix(r, rows, terms, transposed), randomMatrix(r, terms, cols, false), randomMatrix(r, rows, cols, false)
					if err := testProduct(c, a, b); err != nil {
						t.Errorf("%s: %d × %d × %d, transposed %t: %v", name, rows, terms, cols, transposed, err)
					}
				}
			}
		}
	}
}

func testProduct(c, a, b *Matrix) error {
	before := *c
	before.Data = append([]float32(nil), c.Data...)
	AddProduct(c, a, b)
	for i, got := range c.Data {
		row, col := i/c.Row, i%c.Row
		if col >= c.Cols {
			if got != before.Data[i] {
				return fmt.Errorf("wrote between the rows, at %d", i)
			}
			continue
		}
		want := float64(before.Data[i])
		magnitude := math.Abs(want)
		for k := range a.Cols {
			p := float64(a.at(row, k)) * float64(b.at(k, col))
			want += p
			magnitude += math.Abs(p)
		}
		if e := math.Abs(float64(got) - want); !(e <= float64(a.Cols+1)*0x1p-24*magnitude) {
			return fmt.Errorf("(%d, %d) = %v, want %v", row, col, got, want)
		}
	}
	return nil
}

// TestProductRows checks that a row's bits do not depend on the other rows.
func TestProductRows(t *testing.T) {
	const rows, terms, cols = 37, 50, 150
	for _, name := range backendNames() {
		useBackend(t, name)
		r := rand.New(rand.NewPCG(5, 2))
		a, b, c := randomMatrix(r, rows, terms, false), randomMatrix(r, terms, cols, false), randomMatrix(r, rows, cols, false)
		var alone [rows]Matrix
		for i := range alone {
			row, one := *a, *c
			row.Rows, row.Data = 1, a.Data[i*a.Row:]
			one.Rows, one.Data = 1, append([]float32(nil), c.Data[i*c.Row:i*c.Row+cols]...)
			AddProduct(&one, &row, b)
			alone[i] = one
		}
		AddProduct(c, a, b)
		for i := range rows {
			for j := range cols {
				if got, want := c.at(i, j), alone[i].at(0, j); got != want {
					t.Fatalf("%s: (%d, %d) = %v, alone %v", name, i, j, got, want)
				}
			}
		}
	}
}

// TestProductPanics checks that sizes which do not match, or do not fit, panic in
// Go, before assembly reads past the end.
func TestProductPanics(t *testing.T) {
	for name, bend := range map[string]func(c, a, b *Matrix){
		"rows":             func(c, a, b *Matrix) { c.Rows-- },
		"terms":            func(c, a, b *Matrix) { a.Cols-- },
		"columns":          func(c, a, b *Matrix) { b.Cols-- },
		"columns apart":    func(c, a, b *Matrix) { b.Col = 2; b.Data = make([]float32, 1000) },
		"result apart":     func(c, a, b *Matrix) { c.Col = 0 },
		"short a":          func(c, a, b *Matrix) { a.Data = a.Data[:len(a.Data)-1] },
		"short b":          func(c, a, b *Matrix) { b.Data = b.Data[:len(b.Data)-1] },
		"short c":          func(c, a, b *Matrix) { c.Data = c.Data[:len(c.Data)-1] },
		"empty":            func(c, a, b *Matrix) { a.Data = nil },
		"negative rows":    func(c, a, b *Matrix) { c.Rows, a.Rows = -1, -1 },
		"negative stride":  func(c, a, b *Matrix) { a.Row = -1 },
		"overflowing rows": func(c, a, b *Matrix) { a.Row = math.MaxInt/4 + 1 },
		"overflowing cols": func(c, a, b *Matrix) { a.Col = math.MaxInt/4 + 1 },
	} {
		r := rand.New(rand.NewPCG(5, 3))
		a, b, c := randomMatrix(r, 5, 7, false), randomMatrix(r, 7, 16, false), randomMatrix(r, 5, 16, false)
		bend(c, a, b)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			AddProduct(c, a, b)
		}()
	}
}
