package quality

import (
	"math"
	"testing"
)

// TestDivergence has two values by hand, one of them with logits that overflow eˣ.
func TestDivergence(t *testing.T) {
	third := float32(math.Log(3))
	for _, tt := range []struct {
		got, want []float32
		is        float64
	}{
		{[]float32{0, 0}, []float32{third, 0}, 0.75*math.Log(1.5) + 0.25*math.Log(0.5)}, // 3/4, 1/4 from 1/2, 1/2
		{[]float32{third, 0}, []float32{0, 0}, 0.5*math.Log(2.0/3) + 0.5*math.Log(2)},
		{[]float32{800 + third, 800}, []float32{-800, -800}, 0.5*math.Log(2.0/3) + 0.5*math.Log(2)},
	} {
		if d := Divergence(tt.got, tt.want); math.Abs(d-tt.is) > 1e-5 { // float32 has 800 + ln 3 to 3e-5
			t.Errorf("from %v to %v: %g; want %g", tt.want, tt.got, d, tt.is)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(1, math.Abs(b)) } // sums of a few terms

func TestPerplexity(t *testing.T) {
	var p Perplexity
	if !math.IsNaN(p.Value()) || !math.IsNaN(p.Err()) {
		t.Errorf("of nothing: %g, %g", p.Value(), p.Err())
	}
	for _, x := range []float64{math.Log(2), math.Log(8)} {
		p.Add(x)
	}
	// The mean is ln 4, the sample deviation ln 4 / √2, the error of the mean ln 4 / 2.
	low, high := p.Interval()
	if e := math.Log(4) / 2; !near(p.Value(), 4) || !near(p.Err(), 4*e) || !near(low*high, 16) || math.Abs(math.Log(high/4)/e-1.96) > 1e-4 || p.Count() != 2 {
		t.Errorf("%g ± %g, %g … %g", p.Value(), p.Err(), low, high)
	}
}

func TestMean(t *testing.T) {
	var m Mean
	for range 1000 {
		m.Add(1e9)
		m.Add(1e9 + 2)
	}
	if want := math.Sqrt(2000. / 1999 / 2000); m.Value() != 1e9+1 || math.Abs(m.Err()/want-1) > 1e-9 {
		t.Errorf("%g ± %g; want 1e9+1 ± %g", m.Value(), m.Err(), want)
	}
}
