package quality

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// rows are logits of n positions, some of them wide apart.
func rows(seed uint64, n, vocab int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, vocab)
		for j := range out[i] {
			out[i][j] = float32(rng.NormFloat64()) * float32(1+i%7)
		}
	}
	return out
}

// nudged are logits near others.
func nudged(of [][]float32, by float32) [][]float32 {
	rng := rand.New(rand.NewPCG(9, 9))
	out := make([][]float32, len(of))
	for i, row := range of {
		out[i] = slices.Clone(row)
		for j := range out[i] {
			out[i][j] += by * float32(rng.NormFloat64())
		}
	}
	return out
}

const words = 300

var header = Header{Model: "m", Made: "a test", Vocab: words, Context: 8, Tokens: make([]int32, 16*8)} // 16 · 3 positions

// meter takes in logits; position i is followed by token i.
func meter(saved *Saved, base *Base, logits [][]float32) error {
	m := NewMeter(words, saved, base)
	for i, row := range logits {
		if err := m.Add(int32(i), row); err != nil {
			return err
		}
	}
	return m.Flush()
}

func save(t *testing.T, path string, h Header, logits [][]float32) {
	t.Helper()
	s, err := Save(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	if err := errors.Join(meter(s, nil, logits), s.Commit()); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, path string, logits [][]float32) *Comparison {
	t.Helper()
	b, err := OpenBase(path, header)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(meter(nil, b, logits), b.Close()); err != nil || b.Made != "a test" {
		t.Fatalf("made by %q, %v", b.Made, err)
	}
	return &b.Comparison
}

// TestCompare: a run compared with itself has no divergence but that of 16 bits, and with
// another one what Divergence has from all 32.
func TestCompare(t *testing.T) {
	// Of saved ln p, see row.go; the second one for logits that are 0.1 off, of a single
	// position.
	const rounding, moved = 1e-7, 2.5e-5
	path := filepath.Join(t.TempDir(), "logits")
	base := rows(1, header.text().Positions(), words)
	base[3][7] = float32(math.Inf(-1))                                       // a token that cannot be
	base[5] = slices.Repeat([]float32{-2}, words)                            // no spread
	base[6][0], base[6][1] = float32(math.Inf(-1)), base[6][1]+math.MaxInt16 // too much spread
	save(t, path, header, base)
	same := compare(t, path, base)
	if kl := same.Quantile(1); !(kl < rounding) || same.Same.Value() != 1 || same.Ratio.Value() != 0 || same.KL.Count() != len(base) {
		t.Errorf("with itself: %g at most, %g the same, ln of the ratio %g", kl, same.Same.Value(), same.Ratio.Value())
	}
	other := nudged(base, 0.1)
	other[3][7], other[6][0] = base[3][7], base[6][0] // ∞ - ∞ says nothing
	got := compare(t, path, other)
	var mean, base64, ratio Mean
	var each []float64
	agree := 0
	for i := range other {
		want := 0.0
		p, q := LogSum(base[i]), LogSum(other[i])
		for j := range base[i] { // a token of probability 0 adds nothing
			if lp := float64(base[i][j]) - p; !math.IsInf(lp, -1) {
				want += math.Exp(lp) * (lp - float64(other[i][j]) + q)
			}
		}
		each = append(each, want)
		mean.Add(want)
		base64.Add(p - float64(base[i][i]))
		ratio.Add(float64(base[i][i]) - p - float64(other[i][i]) + q)
		if Best(base[i]) == Best(other[i]) {
			agree++
		}
	}
	slices.Sort(each)
	if math.Abs(got.KL.Value()-mean.Value()) > moved/7 || math.Abs(got.Quantile(1)-each[len(each)-1]) > moved || math.Abs(got.Quantile(0.5)-each[len(each)/2-1]) > moved || // √48 is 7
		got.Quantile(0) != got.Quantile(0.001) {
		t.Errorf("divergence %g, %g, %g; want %g, %g, %g", got.KL.Value(), got.Quantile(0.5), got.Quantile(1), mean.Value(), each[len(each)/2-1], each[len(each)-1])
	}
	if math.Abs(got.Base.Mean.Value()-base64.Value()) > 1e-9 || math.Abs(got.Ratio.Value()-ratio.Value()) > 1e-9 || !near(got.Same.Value(), float64(agree)/float64(len(other))) {
		t.Errorf("base %g, ratio %g, same %g; want %g, %g, %d of %d", got.Base.Mean.Value(), got.Ratio.Value(), got.Same.Value(), base64.Value(), ratio.Value(), agree, len(other))
	}
	sum := 0
	for i, bin := range got.Histogram() {
		n := 0
		for _, kl := range got.each {
			if kl < bin.Below && (i == 0 || kl >= math.Pow10(i-9)) {
				n++
			}
		}
		if sum += bin.Count; n != bin.Count {
			t.Errorf("below %g: %d; want %d", bin.Below, bin.Count, n)
		}
	}
	if sum != len(other) {
		t.Errorf("%d divergences in the histogram of %d", sum, len(other))
	}
}

// TestRow: what is read of a row is within half a step of what was written, and adds up
// to 1.
func TestRow(t *testing.T) {
	for i, logits := range rows(4, 4, words) {
		lp, row := make([]float64, words), make([]byte, rowBytes(words))
		if err := logProbs(lp, logits); err != nil {
			t.Fatal(err)
		}
		encodeRow(row, lp, Best(logits), 9)
		r := savedRow{lp: make([]float64, words)}
		if err := r.decode(row); err != nil || r.best != Best(logits) || r.next != lp[9] {
			t.Errorf("row %d: best %d, next %g, %v", i, r.best, r.next, err)
		}
		sum, worst := 0.0, 0.0
		for j := range lp {
			sum += math.Exp(r.lp[j])
			worst = max(worst, math.Abs(r.lp[j]-lp[j]))
		}
		if !near(sum, 1) || worst > 1.0*spread/steps { // half a step, and what makes the sum 1
			t.Errorf("row %d: adds up to %g, %g off", i, sum, worst)
		}
	}
}

// TestQuantile has the nearest ranks of five numbers, and a histogram of round ones.
func TestQuantile(t *testing.T) {
	c := Comparison{each: []float64{5, 1e-8, 3, 1, 1e-3}}
	for share, want := range map[float64]float64{0: 1e-8, 0.2: 1e-8, 0.21: 1e-3, 0.5: 1, 0.8: 3, 0.99: 5, 1: 5} {
		if got := c.Quantile(share); got != want {
			t.Errorf("%g: %g; want %g", share, got, want)
		}
	}
	var counts []int
	for _, b := range c.Histogram() {
		counts = append(counts, b.Count)
	}
	if want := []int{0, 1, 0, 0, 0, 0, 1, 0, 0, 3}; !slices.Equal(counts, want) {
		t.Errorf("%d; want %d", counts, want)
	}
}

// TestForeign: a file of another model, text or kind is refused with the reason, and not
// replaced if it is of another kind.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logits")
	save(t, path, header, rows(1, header.text().Positions(), words))
	tokens := slices.Clone(header.Tokens)
	tokens[77] = 5
	for want, change := range map[string]func(*Header){
		"the logits of another model (made by a test)": func(h *Header) { h.Model = "n" },
		"the logits of another model":                  func(h *Header) { h.Vocab-- },
		"its chunks have 8 tokens, not 16":             func(h *Header) { h.Context = 16 },
		"its text has 128 tokens, not 120":             func(h *Header) { h.Tokens = h.Tokens[:120] },
		"its text is another: token 77 is 0, not 5":    func(h *Header) { h.Tokens = tokens },
	} {
		h := header
		change(&h)
		if _, err := OpenBase(path, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if err := os.WriteFile(path, []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenBase(path, header); err == nil || !strings.Contains(err.Error(), "is not a file of saved logits") {
		t.Errorf("another file: %v", err)
	}
	if _, err := Save(path, header); err == nil {
		t.Error("another file is replaced")
	}
}

// TestBadLogits: what is no distribution is neither saved nor compared.
func TestBadLogits(t *testing.T) {
	good := rows(1, 5, words)
	nan, inf := slices.Clone(good[0]), slices.Clone(good[0])
	nan[4], inf[4] = float32(math.NaN()), float32(math.Inf(1))
	for what, row := range map[string][]float32{"NaN": nan, "+Inf": inf, "only -Inf": slices.Repeat([]float32{float32(math.Inf(-1))}, words)} {
		if err := meter(nil, nil, [][]float32{good[0], good[1], row, good[2]}); err == nil || !strings.HasPrefix(err.Error(), "position 2 of those that count: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m := NewMeter(words, nil, nil)
	for _, next := range []int32{-1, words} {
		if m.Add(next, good[0]) == nil {
			t.Errorf("token %d: no error", next)
		}
	}
	if m.Add(0, good[0][1:]) == nil {
		t.Error("too few logits: no error")
	}
}

// TestMeter: what comes out does not depend on the number of cores, nor on whether the
// last batch is full.
func TestMeter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logits")
	logits := rows(1, header.text().Positions(), words)
	other := nudged(logits, 0.3)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	save(t, path, header, logits)
	want, file := *compare(t, path, other), read(t, path)
	for _, cores := range []int{2, 5, 64} {
		runtime.GOMAXPROCS(cores)
		save(t, path, header, logits)
		if got := compare(t, path, other); !reflect.DeepEqual(*got, want) || !bytes.Equal(read(t, path), file) {
			t.Errorf("%d cores: another file, or %+v; want %+v", cores, got, want)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzRow: any bytes of the right length are refused or give probabilities.
func FuzzRow(f *testing.F) {
	const vocab = 5
	good := make([]byte, rowBytes(vocab))
	encodeRow(good, []float64{-1, -2, -3, -4, -50}, 0, 2)
	f.Add(good)
	f.Add(bytes.Repeat([]byte{0xff}, len(good)))
	f.Add(make([]byte, len(good)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) != rowBytes(vocab) {
			return
		}
		r := savedRow{lp: make([]float64, vocab)}
		if r.decode(data) != nil {
			return
		}
		sum := 0.0
		for _, lp := range r.lp {
			sum += math.Exp(lp)
		}
		if r.best >= vocab || !(math.Abs(sum-1) < 1e-9) {
			t.Errorf("%+v, sum %g", r, sum)
		}
	})
}
