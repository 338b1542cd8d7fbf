package blas

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/quant"
)

const (
	// timeLimit bounds how long a program waits for the choice.
	timeLimit = 100 * time.Millisecond
	// triedInputs is the number of inputs of the timed products, as in a prompt or a part of it.
	triedInputs = 128
	// mostShapes is how many shapes of a file's matrices are timed, the largest first.
	mostShapes = 3
	// turns is how often each way runs; the best time counts.
	turns = 3
	// gain is how many times as fast the library has to be. Less is noise, and the loops keep their bits.
	gain = 1.1
)

// shape is one matrix of a file, timed by its first rows in place of all matrices of its type and width.
type shape struct {
	format *quant.Format
	cols   int
	data   []byte  // whole rows
	size   float64 // elements of all these matrices
}

// shapes lists the shapes of the matrices that prompts are multiplied by.
func shapes(m *device.Model) []shape {
	var list []shape
	for i := range m.Bundle.Weights {
		row := &m.Bundle.Weights[i]
		for l := range row.Layers() {
			w, err := m.Lookup(i, row.Layer(l))
			if err != nil || row.Rows < 2 || row.Batch > 1 { // an expert gets few of a prompt's rows
				continue
			}
			f, ok := quant.Lookup(w.Type)
			if !ok || f.BlockElems < 1 || row.Cols%f.BlockElems != 0 {
				continue
			}
			size := float64(row.Rows) * float64(row.Cols)
			at := slices.IndexFunc(list, func(s shape) bool { return s.format == f && s.cols == row.Cols })
			if at < 0 {
				at = len(list)
				list = append(list, shape{format: f, cols: row.Cols, data: m.Regions[w.Region][w.Offset:][:w.Bytes]})
			}
			list[at].size += size
		}
	}
	slices.SortStableFunc(list, func(a, b shape) int { return cmp.Compare(b.size, a.size) })
	return list[:min(len(list), mostShapes)]
}

// trial is a product of some rows of a shape with inputs, in every worker.
type trial struct {
	*shape
	stride, rows int
	xs           [][]float32
	ys           [][][]float32 // by worker
}

func newTrial(s *shape, workers int) *trial {
	t := &trial{shape: s, stride: s.cols / s.format.BlockElems * s.format.BlockBytes}
	t.rows = min(linalg.PanelRows, len(s.data)/t.stride)
	random := rand.New(rand.NewPCG(1, uint64(s.cols)))
	t.xs = vectors(triedInputs, s.cols)
	for _, x := range t.xs {
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
	}
	for range workers {
		t.ys = append(t.ys, vectors(triedInputs, t.rows))
	}
	return t
}

func vectors(n, size int) [][]float32 {
	all, list := make([]float32, n*size), make([][]float32, n)
	for i := range list {
		list[i] = all[i*size : (i+1)*size]
	}
	return list
}

// run multiplies once, in all workers in parallel as a prompt does, and returns how long that took.
func (t *trial) run() time.Duration {
	start := time.Now()
	var all sync.WaitGroup
	for i, ys := range t.ys {
		first := i * t.rows
		if first+t.rows > len(t.data)/t.stride {
			first = 0
		}
		all.Go(func() { linalg.RowsMany(t.format, t.data[first*t.stride:], t.stride, t.xs, ys) })
	}
	all.Wait()
	return time.Since(start)
}

// compared is the number of inputs whose results are compared.
const compared = 4

// compare fails if the first worker's results differ from those of the loops by more than
// linalg.LibraryError.
func (t *trial) compare(loops [][]float32) error {
	row := make([]float32, t.cols)
	for r := range t.rows {
		t.format.Dequantize(row, t.data[r*t.stride:])
		for i := range min(compared, len(t.xs)) {
			sizes := 0.0
			for e, x := range t.xs[i] {
				sizes += math.Abs(float64(x) * float64(row[e]))
			}
			got, want := t.ys[0][i][r], loops[i][r]
			if d := math.Abs(float64(got) - float64(want)); !(d <= linalg.LibraryError(t.cols)*sizes) && !math.IsNaN(float64(want)) {
				return fmt.Errorf("row %d of %s × %d is %g for input %d; the loops make %g", r, t.format.Name, t.cols, got, i, want)
			}
		}
	}
	return nil
}

// Choose times the library and the loops on a model's own matrices. If the library is faster, and right, it
// multiplies many inputs from then on. Choose returns its findings in words.
func Choose(l *linalg.Library, m *device.Model, workers int) string {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	linalg.SetLibrary(nil)
	var loops, own float64
	end := time.Now().Add(timeLimit)
	for _, s := range shapes(m) {
		t := newTrial(&s, workers)
		a, b, err := t.times(l, end)
		if err != nil {
			return fmt.Sprintf("%s is not used: %v", l.Name, err)
		}
		each := s.size / float64(t.rows*t.cols)
		loops, own = loops+a.Seconds()*each, own+b.Seconds()*each
		if time.Now().After(end) {
			break
		}
	}
	return decide(l, loops, own)
}

// decide sets the library if it is faster than the loops, and returns a sentence about it.
func decide(l *linalg.Library, loops, own float64) string {
	if own == 0 {
		return l.Name + " is not used: the file has no matrix for it"
	}
	if ratio := loops / own; ratio < gain {
		return fmt.Sprintf("%s is not used: %.2f times as fast as the %s loops", l.Name, ratio, linalg.Backend())
	}
	linalg.SetLibrary(l)
	return fmt.Sprintf("%s for %d rows and more, %.1f times as fast as the %s loops", l.Name, linalg.LibraryInputs, loops/own, linalg.Backend())
}

// times returns the best times of the loops and of the library, run in turns. The first run of each fills
// caches, and its results are compared.
func (t *trial) times(l *linalg.Library, end time.Time) (loops, own time.Duration, err error) {
	defer linalg.SetLibrary(nil)
	for turn := range turns {
		linalg.SetLibrary(nil)
		a := t.run()
		want := vectors(compared, t.rows)
		for i := range want {
			copy(want[i], t.ys[0][i])
		}
		linalg.SetLibrary(l)
		b := t.run()
		if turn == 0 {
			if err := t.compare(want); err != nil {
				return 0, 0, err
			}
			loops, own = a, b
		}
		loops, own = min(loops, a), min(own, b)
		if turn > 0 && time.Now().After(end) {
			break
		}
	}
	return loops, own, nil
}
