package interp

import (
	"math"

	"mla/gen/ir"
	"mla/gen/spec"
	"mla/runtime/gguf"
	"mla/runtime/plan/formula"
)

// rope rotates the last qk_rope_head_dim elements of each head by angle pos·f_i, in pairs (2i, 2i+1), or with
// Halves (i, i+n/2).
func rope(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	dims := m.p.Spec.Model.QKRopeHeadDim
	freqs, mag := m.p.RopeFreqs, m.p.RopeMScale
	if freqs == nil {
		freqs, mag = ropeFormula(m.p.Spec)
	}
	for h := 0; h < op.Heads; h++ {
		y := out[h*op.In[0].Stride:]
		y = y[:copy(y, m.in(op, 0, h))]
		formula.Rope(y, dims, op.Halves, formula.Angles(freqs, mag, m.pos))
	}
}

// ropeFormula returns the definition of the frequencies: plain RoPE, or YaRN in the form that llama.cpp has
// for deepseek2.
func ropeFormula(s *spec.Spec) (freqs []float64, mag float64) {
	n, base, y := s.Model.QKRopeHeadDim, s.Rope.Theta, s.Rope.Scaling
	mag = 1
	lo, hi := 0.0, 0.0
	if y != nil {
		corr := func(b float64) float64 {
			return float64(n) * math.Log(float64(y.OriginalMaxPositionEmbeddings)/(b*2*math.Pi)) / (2 * math.Log(base))
		}
		lo, hi = math.Max(0, math.Floor(corr(32))), math.Min(float64(n-1), math.Ceil(corr(1)))
		mag = yarnMagnitude(y, gguf.ArchitectureOf(s.Architecture))
	}
	for i := 0; i < n/2; i++ {
		f := math.Pow(base, -2*float64(i)/float64(n))
		if y != nil {
			mix := 1 - math.Max(0, math.Min(1, (float64(i)-lo)/math.Max(0.001, hi-lo)))
			f *= (1-mix)/y.Factor + mix
		}
		freqs = append(freqs, f)
	}
	return freqs, mag
}

// yarnMagnitude returns attn_factor · g(mscale) / g(mscale_all_dim) with g(m) = 0.1 m ln factor + 1;
// without mscale_all_dim, attn_factor · g(1).
func yarnMagnitude(y *spec.Yarn, arch gguf.Architecture) float64 {
	if y.Factor <= 1 {
		return y.AttnFactor
	}
	g := func(m float64) float64 { return 0.1*m*math.Log(y.Factor) + 1 }
	switch {
	case y.MScaleAllDim == 0:
		return y.AttnFactor * g(1)
	case arch.MScale != 0:
		return y.AttnFactor * g(arch.MScale) / g(y.MScaleAllDim)
	}
	return y.AttnFactor
}

// kqScale returns the scale of attention, computed here if the pass bake_rope has not set it.
func kqScale(m *Machine, op *ir.Op) float64 {
	if op.Scale != 0 {
		return op.Scale
	}
	s := m.p.Spec
	scale := 1 / math.Sqrt(float64(s.Model.QKNopeHeadDim+s.Model.QKRopeHeadDim))
	if y := s.Rope.Scaling; y != nil {
		mscale := yarnMagnitude(y, gguf.ArchitectureOf(s.Architecture)) * (1 + 0.1*y.MScaleAllDim*math.Log(y.Factor))
		scale *= mscale * mscale
	}
	return scale
}

// temperature returns the factor on the scores of the query at this position.
func temperature(m *Machine, op *ir.Op) float64 {
	t := op.Temperature
	if t.Scale == 0 {
		return 1
	}
	return 1 + t.Scale*math.Log(1+math.Floor(float64(m.pos)/float64(t.Length)))
}

func storeKV(m *Machine, op *ir.Op) {
	row := append(append([]float64{}, m.in(op, 0, 0)...), m.in(op, 1, 0)...)
	l := op.Out[0].Layer
	m.caches[l] = append(m.caches[l][:m.pos], row)
}

// expand makes the keys or values of every cached row: [position][head][dims].
func expand(m *Machine, op *ir.Op) {
	var all []float64
	for _, cached := range m.caches[op.Out[0].Layer] {
		lat := cached[op.In[0].Off : op.In[0].Off+op.In[0].Len]
		for h := 0; h < op.Heads; h++ {
			w, _, _ := m.weight(op, 0, h)
			if op.Transposed {
				all = append(all, formula.MulTransposed(w, lat)...)
				continue
			}
			all = append(all, formula.Mul(w, lat)...)
		}
	}
	m.values[op.Out[0]] = all
}

func attention(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	n, scale := m.pos+1, kqScale(m, op)*temperature(m, op)
	keys, values := m.values[op.In[2].V], m.values[op.In[3].V]
	nope, v := op.In[0].Len, op.Out[0].Len/op.Heads
	pe := op.In[4]
	rows := m.caches[pe.V.Layer]
	for h := 0; h < op.Heads; h++ {
		scores := make([]float64, n)
		for j := range scores {
			k := keys[(j*op.Heads+h)*nope:][:nope]
			scores[j] = scale * (formula.Dot(m.in(op, 0, h), k) + formula.Dot(m.in(op, 1, h), rows[j][pe.Off:pe.Off+pe.Len]))
		}
		o, _, _ := formula.Mean(scores, nil, v, func(j int) []float64 { return values[(j*op.Heads+h)*v:] })
		copy(out[h*v:], o)
	}
}

// latentScores returns the scaled scores of head h for cache rows [lo, hi).
func latentScores(m *Machine, op *ir.Op, h, lo, hi int) []float64 {
	abs, pe := m.in(op, 0, h), m.in(op, 1, h)
	var s []float64
	for _, row := range m.caches[op.In[2].V.Layer][lo:hi] {
		s = append(s, kqScale(m, op)*temperature(m, op)*(formula.Dot(abs, row)+formula.Dot(pe, row[len(abs):])))
	}
	return s
}

func latentAttention(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	c, rows := op.In[0].Len, m.caches[op.In[2].V.Layer]
	for h := 0; h < op.Heads; h++ {
		o, _, _ := formula.Mean(latentScores(m, op, h, 0, m.pos+1), nil, c, func(j int) []float64 { return rows[j] })
		copy(out[h*c:], o)
	}
}

// attendSplit computes for each split and head m = max s_j, l = Σ e^(s_j-m), and Σ e^(s_j-m)·lat_j / l.
func attendSplit(m *Machine, op *ir.Op) {
	out, ml := m.out(op, 0), m.out(op, 1)
	c, n := op.In[0].Len, m.pos+1
	per, rows := op.KVSplits().Per(n), m.caches[op.In[2].V.Layer]
	for s := 0; s*per < n; s++ {
		lo, hi := s*per, min(n, (s+1)*per)
		for h := 0; h < op.Heads; h++ {
			o, top, sum := formula.Mean(latentScores(m, op, h, lo, hi), nil, c, func(j int) []float64 { return rows[lo+j] })
			copy(out[(s*op.Heads+h)*c:], o)
			ml[(s*op.Heads+h)*2], ml[(s*op.Heads+h)*2+1] = top, sum
		}
	}
}

func combine(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	part, ml := m.in(op, 0, 0), m.in(op, 1, 0)
	c, n := len(out)/op.Heads, m.pos+1
	per := op.KVSplits().Per(n)
	for h := 0; h < op.Heads; h++ {
		var tops, sums []float64
		for s := 0; s*per < n; s++ {
			tops, sums = append(tops, ml[(s*op.Heads+h)*2]), append(sums, ml[(s*op.Heads+h)*2+1])
		}
		o, _, _ := formula.Mean(tops, sums, c, func(s int) []float64 { return part[(s*op.Heads+h)*c:] })
		copy(out[h*c:], o)
	}
}
