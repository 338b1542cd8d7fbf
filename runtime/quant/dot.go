package quant

// chunk is the number of elements that the pure Go loops decode to the stack at a time, for formats without
// larger blocks.
const chunk = 256

// DotFloats returns Σ a[i]·b[i] over len(a) elements. Four running sums hide the
// latency of the additions.
func DotFloats(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 8 && len(b) >= 8 {
		p, q := (*[8]float32)(a), (*[8]float32)(b)
		s0 += p[0]*q[0] + p[4]*q[4]
		s1 += p[1]*q[1] + p[5]*q[5]
		s2 += p[2]*q[2] + p[6]*q[6]
		s3 += p[3]*q[3] + p[7]*q[7]
		a, b = a[8:], b[8:]
	}
	for i, f := range a {
		s0 += f * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
