package linalg

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// manyLengths are the numbers of blocks to test with RowsMany; for formats without
// blocks they are numbers of elements: less than a step, whole steps, and a rest. The
// longest are of more than one stretch.
func manyLengths(f *quant.Format) []int {
	if f.BlockElems == 1 {
		return []int{1, 31, 32, 33, 96, 575}
	}
	return []int{1, 2, 7, stretchElems/f.BlockElems + 3}
}

// loopsOf are the two pairs of functions that promise the same bits.
var loopsOf = []struct {
	name  string
	alone func(f *quant.Format, w []byte, stride int, x, y []float32)
	many  func(f *quant.Format, w []byte, stride int, xs, ys [][]float32)
}{
	{"Rows", Rows, RowsMany},
	{"RowsHalves", RowsHalves, RowsHalvesMany},
	{"Int8", rowInt8, rowsInt8},
}

// rowsInt8 is RowsMany with inputs that are rounded to bytes, and rowInt8 is Rows.
func rowsInt8(f *quant.Format, w []byte, stride int, xs, ys [][]float32) {
	in := Inputs{Int8: true}
	in.Set(f, xs)
	Product(f, w, stride, &in, ys)
}

func rowInt8(f *quant.Format, w []byte, stride int, x, y []float32) {
	rowsInt8(f, w, stride, [][]float32{x}, [][]float32{y})
}

// vectors are n vectors of some length that begin at every float modulo 16.
func vectors(r *rand.Rand, n, length int) [][]float32 {
	v := make([][]float32, n)
	for j := range v {
		v[j] = randomHalves(r, length+j%16, 1)[j%16:]
	}
	return v
}

// TestRowsMany checks that every input has the same bits as alone.
func TestRowsMany(t *testing.T) {
	apart := 1
	if !deep.On {
		apart = 5 // nothing here runs at the same time
	}
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, loop := range loopsOf {
			for _, f := range quant.Formats() {
				if name != backendNames()[0] && loop.name == "RowsHalves" && f.Halves != nil {
					continue // the same Go loops in every back end
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, loop.name, f.Name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(21, uint64(f.Type)))
					for i, blocks := range manyLengths(f) {
						for inputs := 0; inputs < 18; inputs += apart {
							if f.Halves != nil && loop.name == "RowsHalves" && (blocks > 2 || inputs > 5) {
								continue // slow, and of no other structure
							}
							rows := 1 + (i+inputs)%9 + blockRows*(inputs%3)
							start, gap := inputs%4, i%3
							stride := blocks*f.BlockBytes + gap
							w := bytes.Repeat([]byte{0xff}, start+rows*stride)[start:]
							for r0 := range rows {
								copy(w[r0*stride:], randomBlocks(r, f, blocks))
							}
							xs, ys := vectors(r, inputs, blocks*f.BlockElems), vectors(r, inputs, rows)
							loop.many(f, w, stride, xs, ys)
							want := make([]float32, rows)
							for k, x := range xs {
								loop.alone(f, w, stride, x, want)
								for r0 := range want {
									if ys[k][r0] != want[r0] {
										t.Fatalf("%d blocks, %d rows, %d inputs: row %d of input %d is %v; alone it is %v",
											blocks, rows, inputs, r0, k, ys[k][r0], want[r0])
									}
								}
							}
						}
					}
				})
			}
		}
	}
}

// TestProduct multiplies inputs that are set once by different rows, and then takes up fewer and shorter
// inputs of another format.
func TestProduct(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		var in Inputs
		for i, f := range quant.Formats() {
			const rows = 37
			r := rand.New(rand.NewPCG(23, uint64(f.Type)))
			n := 512 - 256*(i%2)
			w := randomBlocks(r, f, rows*n/f.BlockElems)
			stride := len(w) / rows
			xs := vectors(r, 1+(11-i%3)*(i%4), n)
			in.Set(f, xs)
			for _, part := range [][2]int{{0, 32}, {31, 37}, {3, 4}} {
				ys := vectors(r, len(xs), part[1]-part[0])
				Product(f, w[part[0]*stride:], stride, &in, ys)
				want := make([]float32, part[1]-part[0])
				for j, x := range xs {
					if Rows(f, w[part[0]*stride:], stride, x, want); !slices.Equal(ys[j], want) {
						t.Errorf("%s %s: rows %d of input %d: %v; alone %v", name, f.Name, part, j, ys[j], want)
					}
				}
			}
		}
	}
}

// TestRowsAtOnce checks that several workers, each with a share of the rows, compute the same bits as one worker.
// All calls share the memory for inputs. The race detector runs this test of the package.
func TestRowsAtOnce(t *testing.T) {
	const workers, share, n = 4, 9, 512
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, f := range quant.Formats() {
			r := rand.New(rand.NewPCG(25, uint64(f.Type)))
			w := randomBlocks(r, f, workers*share*n/f.BlockElems)
			stride := len(w) / (workers * share)
			xs := vectors(r, 11, n)
			var ys [workers][][]float32
			var all sync.WaitGroup
			for i := range workers {
				ys[i] = vectors(r, len(xs), share)
				all.Go(func() { RowsMany(f, w[i*share*stride:], stride, xs, ys[i]) })
			}
			all.Wait()
			want := make([]float32, share)
			for i := range workers {
				for k, x := range xs {
					if Rows(f, w[i*share*stride:], stride, x, want); !slices.Equal(ys[i][k], want) {
						t.Errorf("%s %s: worker %d, input %d: %v; alone %v", name, f.Name, i, k, ys[i][k], want)
					}
				}
			}
		}
	}
}

// TestRowsManyNeighbours checks that an input with numbers that are not finite does not change other inputs'
// results.
func TestRowsManyNeighbours(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, f := range quant.Formats() {
			const rows, n = 6, 512
			r := rand.New(rand.NewPCG(22, uint64(f.Type)))
			w := randomBlocks(r, f, rows*n/f.BlockElems)
			xs, ys := vectors(r, 7, n), vectors(r, 7, rows)
			for i := range xs[3] {
				xs[3][i] *= float32(math.Inf(1)) // infinity, or NaN of 0
			}
			RowsMany(f, w, len(w)/rows, xs, ys)
			var want [rows]float32
			for j, x := range xs {
				if Rows(f, w, len(w)/rows, x, want[:]); j != 3 && !slices.Equal(ys[j], want[:]) {
					t.Errorf("%s %s: input %d: %v; alone %v", name, f.Name, j, ys[j], want)
				}
			}
		}
	}
}

// TestRowsManyShort checks that sizes that do not match panic in Go, before assembly
// reads past a slice.
func TestRowsManyShort(t *testing.T) {
	tests := []struct {
		name      string
		w, stride int
		x, y      []int // lengths
	}{
		{"last row cut", 4*18 - 1, 18, []int{32, 32}, []int{4, 4}},
		{"part of a block", 1000, 18, []int{31, 31}, []int{4, 4}},
		{"negative stride", 1000, -18, []int{32, 32}, []int{4, 4}},
		{"second input shorter", 1000, 18, []int{64, 32}, []int{4, 4}},
		{"second input longer", 1000, 18, []int{32, 64}, []int{4, 4}},
		{"second result shorter", 1000, 18, []int{32, 32}, []int{4, 3}},
		{"no second result", 1000, 18, []int{32, 32}, []int{4}},
		{"more results than inputs", 1000, 18, []int{32}, []int{4, 4}},
	}
	vectors := func(lengths []int) (v [][]float32) {
		for _, n := range lengths {
			v = append(v, make([]float32, n))
		}
		return v
	}
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, tt := range tests {
			for _, loop := range loopsOf {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s, %s, %s: no panic", name, loop.name, tt.name)
						}
					}()
					loop.many(formatOf(quant.Q4_0), make([]byte, tt.w), tt.stride, vectors(tt.x), vectors(tt.y))
				}()
			}
		}
	}
}

func TestRowsManyEmpty(t *testing.T) {
	for _, name := range backendNames() {
		useBackend(t, name)
		for _, loop := range loopsOf {
			loop.many(formatOf(quant.Q4_0), nil, 18, nil, nil)
			loop.many(formatOf(quant.Q4_0), nil, 18, [][]float32{make([]float32, 32), make([]float32, 32)}, [][]float32{nil, nil})
			ys := [][]float32{{7}, {7}, {7}}
			loop.many(formatOf(quant.Q4_0), nil, 0, [][]float32{nil, nil, nil}, ys)
			for j := range ys {
				if ys[j][0] != 0 {
					t.Errorf("%s %s: empty rows times input %d give %v, want 0", name, loop.name, j, ys[j][0])
				}
			}
		}
	}
}
