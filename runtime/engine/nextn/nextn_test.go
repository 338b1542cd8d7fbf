package nextn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/engine/nextn"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/plan/formula"
)

func newJoiner(tb testing.TB) (*nextn.Joiner, []bind.Joined, *plan.Bundle) {
	tb.Helper()
	f, err := gguf.Open("../../../testdata/tinychat.gguf")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	b, err := bind.Resolve(f).Choose(generated.Bundles(), bind.Wish{Act: "f32", NextN: true})
	if err != nil {
		tb.Fatal(err)
	}
	weights, err := bind.Resolve(f).Joined(b)
	if err != nil {
		tb.Fatal(err)
	}
	j, err := nextn.New(bind.Resolve(f), b)
	if err != nil {
		tb.Fatal(err)
	}
	return j, weights, b
}

// rows returns random tokens and hidden states. Every seventh state is unknown.
func rows(n, dim int) (tokens []int32, hidden [][]float32) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range n {
		tokens = append(tokens, rng.Int32N(1000))
		h := make([]float32, dim)
		for at := range h {
			h[at] = 4*rng.Float32() - 2
		}
		if i%7 == 3 {
			h = nil
		}
		hidden = append(hidden, h)
	}
	return tokens, hidden
}

// TestInputs checks that an input has the norms of the token's embedding and of the token's own hidden state,
// with one worker and with many.
func TestInputs(t *testing.T) {
	j, weights, bundle := newJoiner(t)
	dim, eps := j.Dim(), bundle.Model.RMSNormEps
	embed := weights[plan.JoinedEmbedding]
	enorm, hnorm := weightsOf(t, weights[plan.JoinedENorm], dim), weightsOf(t, weights[plan.JoinedHNorm], dim)
	embedding := make([]float32, dim)
	for _, n := range []int{1, 16, 17, 100} {
		tokens, hidden := rows(n, dim)
		got := make([]float32, 2*dim*n)
		if err := j.Inputs(got, tokens, hidden); err != nil {
			t.Fatal(err)
		}
		for i, token := range tokens {
			e, h := got[2*i*dim:][:dim], got[(2*i+1)*dim:][:dim]
			embed.Format.Dequantize(embedding, embed.Rows[int(token)*embed.RowBytes:][:embed.RowBytes])
			if !normed(e, embedding, enorm, eps) {
				t.Fatalf("row %d of %d: not the norm of the embedding of token %d", i, n, token)
			}
			if hidden[i] == nil {
				if slices.ContainsFunc(h, func(v float32) bool { return v != 0 }) {
					t.Fatalf("row %d of %d: a hidden state where none is known", i, n)
				}
			} else if !normed(h, hidden[i], hnorm, eps) {
				t.Fatalf("row %d of %d: not the norm of its hidden state", i, n)
			}
		}
	}
}

// TestModel checks that the norms of many vectors are the norms of each alone.
func TestModel(t *testing.T) {
	j, _, _ := newJoiner(t)
	rng := rand.New(rand.NewPCG(2, 2))
	all := make([]float32, 50*j.Dim())
	for i := range all {
		all[i] = 8*rng.Float32() - 4
	}
	one := slices.Clone(all)
	j.Model(all)
	for at := 0; at < len(one); at += j.Dim() {
		j.Model(one[at:][:j.Dim()])
	}
	for i := range all {
		if all[i] != one[i] {
			t.Fatalf("vector %d: %v; expected %v", i/j.Dim(), all[i], one[i])
		}
	}
}

// TestInputsOfOtherTokens checks that a token outside the vocabulary is an error.
func TestInputsOfOtherTokens(t *testing.T) {
	j, _, _ := newJoiner(t)
	for _, token := range []int32{-1, 1 << 20, math.MaxInt32} {
		if err := j.Inputs(make([]float32, 4*j.Dim()), []int32{1, token}, make([][]float32, 2)); err == nil {
			t.Errorf("token %d: no error", token)
		}
	}
}

func weightsOf(t *testing.T, w bind.Joined, dim int) []float32 {
	t.Helper()
	out := make([]float32, dim)
	w.Format.Dequantize(out, w.Rows)
	return out
}

// normed reports whether got is rms(x)*weight. The tolerance of 1e-6 covers three roundings to float32.
func normed(got, x, weight []float32, eps float64) bool {
	for i, want := range formula.Norm(x, weight, eps) {
		if math.Abs(float64(got[i])-want) > 1e-6*math.Abs(want) {
			return false
		}
	}
	return true
}

// BenchmarkInputs measures the host's time per row to catch up.
func BenchmarkInputs(b *testing.B) {
	j, _, _ := newJoiner(b)
	tokens, hidden := rows(512, j.Dim())
	dst := make([]float32, 2*j.Dim()*len(tokens))
	for b.Loop() {
		if err := j.Inputs(dst, tokens, hidden); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tokens)), "ns/row")
}
