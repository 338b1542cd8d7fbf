package interp

import (
	"math"

	"mla/gen/ir"
	"mla/gen/spec"
	"mla/runtime/gguf"
)

// rope rotates the last dims of each head, pair (2i, 2i+1), or (i, i+n/2), by angle pos·f_i.
func rope(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	dims := m.p.Spec.Model.QKRopeHeadDim
	freqs, mag := m.p.RopeFreqs, m.p.RopeMScale
	if freqs == nil {
		freqs, mag = ropeFormula(m.p.Spec)
	}
	for h := 0; h < op.Heads; h++ {
		x := m.in(op, 0, h)
		y := out[h*op.In[0].Stride:]
		copy(y, x)
		first := len(x) - dims
		for i, f := range freqs {
			sin, cos := math.Sincos(float64(m.pos) * f)
			even, odd := first+2*i, first+2*i+1
			if op.Halves {
				even, odd = first+i, first+i+dims/2
			}
			a, b := x[even], x[odd]
			y[even] = mag * (a*cos - b*sin)
			y[odd] = mag * (a*sin + b*cos)
		}
	}
}

// ropeFormula is the definition: plain RoPE, or YaRN as GGUF's deepseek2 has it.
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

// yarnMagnitude is attn_factor · g(mscale) / g(mscale_all_dim) with g(m) = 0.1 m ln factor + 1;
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

// kqScale is the attention's scale where no pass has baked it.
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

// temperature is the factor on the scores of the query at this position.
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

// expand makes the keys or values of every cached row: [pos][head][dims].
func expand(m *Machine, op *ir.Op) {
	var all []float64
	for _, cached := range m.caches[op.Out[0].Layer] {
		lat := cached[op.In[0].Off : op.In[0].Off+op.In[0].Len]
		for h := 0; h < op.Heads; h++ {
			w, rows, cols := m.weight(op, 0, h)
			if op.Transposed {
				all = append(all, multiplyTransposed(w, lat, rows, cols)...)
				continue
			}
			y := make([]float64, rows)
			multiply(y, w, lat, cols)
			all = append(all, y...)
		}
	}
	m.values[op.Out[0]] = all
}

func multiplyTransposed(w []float32, x []float64, rows, cols int) []float64 {
	y := make([]float64, cols)
	for r := 0; r < rows; r++ {
		for c := range y {
			y[c] += float64(w[r*cols+c]) * x[r]
		}
	}
	return y
}

func attention(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	n, scale := m.pos+1, kqScale(m, op)*temperature(m, op)
	keys, values := m.values[op.In[2].V], m.values[op.In[3].V]
	nope, v := op.In[0].Len, op.Out[0].Len/op.Heads
	pe := op.In[4]
	rows := m.caches[pe.V.Layer]
	for h := 0; h < op.Heads; h++ {
		p := make([]float64, n)
		for j := range p {
			k := keys[(j*op.Heads+h)*nope:][:nope]
			p[j] = scale * (dot(m.in(op, 0, h), k) + dot(m.in(op, 1, h), rows[j][pe.Off:pe.Off+pe.Len]))
		}
		softmax(p)
		for j := range p {
			for d := 0; d < v; d++ {
				out[h*v+d] += p[j] * values[(j*op.Heads+h)*v+d]
			}
		}
	}
}

// latentScores are the scaled scores of head h against cache rows [lo, hi).
func latentScores(m *Machine, op *ir.Op, h, lo, hi int) []float64 {
	abs, pe := m.in(op, 0, h), m.in(op, 1, h)
	var s []float64
	for _, row := range m.caches[op.In[2].V.Layer][lo:hi] {
		s = append(s, kqScale(m, op)*temperature(m, op)*(dot(abs, row)+dot(pe, row[len(abs):])))
	}
	return s
}

func latentAttention(m *Machine, op *ir.Op) {
	out := m.out(op, 0)
	c := op.In[0].Len
	for h := 0; h < op.Heads; h++ {
		p := latentScores(m, op, h, 0, m.pos+1)
		softmax(p)
		for j, row := range m.caches[op.In[2].V.Layer][:m.pos+1] {
			for d := 0; d < c; d++ {
				out[h*c+d] += p[j] * row[d]
			}
		}
	}
}

// attendSplit leaves per split and head l = Σ e^(s_j-m), m and Σ e^(s_j-m)·lat_j / l.
func attendSplit(m *Machine, op *ir.Op) {
	out, ml := m.out(op, 0), m.out(op, 1)
	c, n := op.In[0].Len, m.pos+1
	per := op.KVSplits().Per(n)
	for s := 0; s*per < n; s++ {
		lo, hi := s*per, min(n, (s+1)*per)
		for h := 0; h < op.Heads; h++ {
			scores := latentScores(m, op, h, lo, hi)
			top := maxOf(scores)
			o := out[(s*op.Heads+h)*c:][:c]
			sum := 0.0
			for j, v := range scores {
				e := math.Exp(v - top)
				sum += e
				for d := range o {
					o[d] += e * m.caches[op.In[2].V.Layer][lo+j][d]
				}
			}
			for d := range o {
				o[d] /= sum
			}
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
		top := math.Inf(-1)
		for s := 0; s*per < n; s++ {
			top = math.Max(top, ml[(s*op.Heads+h)*2])
		}
		sum := 0.0
		o := out[h*c : (h+1)*c]
		for s := 0; s*per < n; s++ {
			e := math.Exp(ml[(s*op.Heads+h)*2]-top) * ml[(s*op.Heads+h)*2+1]
			sum += e
			for d := range o {
				o[d] += e * part[(s*op.Heads+h)*c+d]
			}
		}
		for d := range o {
			o[d] /= sum
		}
	}
}

func softmax(x []float64) {
	top, sum := maxOf(x), 0.0
	for i, v := range x {
		x[i] = math.Exp(v - top)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

func maxOf(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, v)
	}
	return top
}
