package quant

// SuperBlock is the number of elements in a block of the K-quants and of
// IQ4_XS: sub-blocks of 32 or 16 elements with small integer scales of their
// own, under one half-precision scale.
const SuperBlock = 256

// scaleMin unpacks the 6-bit scale and minimum of sub-block j (0–7) from the 12
// bytes that Q4_K and Q5_K pack them into: the first four in the low six bits
// of bytes 0–3 and 4–7, the last four in the nibbles of bytes 8–11 with their
// upper two bits in the spare bits of bytes 0–7.
func scaleMin(q *[12]byte, j int) (scale, minimum uint8) {
	if j < 4 {
		return q[j] & 63, q[j+4] & 63
	}
	return q[j+4]&15 | q[j-4]>>6<<4, q[j+4]>>4 | q[j]>>6<<4
}

// unpackScaleMin decodes the scales and minima of all eight sub-blocks from the beginning of a Q4_K or Q5_K
// block: d, dmin and the 12 bytes of scaleMin. They are for integers that are centred at middle.
func unpackScaleMin(head *[16]byte, middle float32, scales []Affine) {
	d, dmin := halfAt(head[:]), halfAt(head[2:])
	for s := range scales {
		scale, minimum := scaleMin((*[12]byte)(head[4:]), s)
		scales[s] = centred(d*float32(scale), -dmin*float32(minimum), middle)
	}
}

// packScaleMin is the inverse of scaleMin for all eight sub-blocks.
func packScaleMin(q *[12]byte, scales, mins *[8]uint8) {
	for j := range 4 {
		q[j] = scales[j] | scales[j+4]>>4<<6
		q[j+4] = mins[j] | mins[j+4]>>4<<6
		q[j+8] = scales[j+4]&15 | mins[j+4]<<4
	}
}

// quantizeAffine chooses the scales of a Q4_K or Q5_K block and quantises its
// elements to 0…levels. It writes d, dmin and the packed scales to head.
func quantizeAffine(head *[16]byte, src *[SuperBlock]float32, levels int) (q [SuperBlock]uint8) {
	var spans, offsets [8]float32 // scale and negated minimum that each sub-block needs
	for s := range 8 {
		spans[s], offsets[s] = spanOf(src[32*s:32*s+32], levels)
	}
	d := putHalf(head[0:], maxOf(spans[:])/63)
	dmin := putHalf(head[2:], maxOf(offsets[:])/63)
	invD, invDmin := inverse(d), inverse(dmin)
	var scales, mins [8]uint8
	for s := range 8 {
		scales[s] = uint8(round(spans[s]*invD, 0, 63))
		mins[s] = uint8(round(offsets[s]*invDmin, 0, 63))
		offset, inv := dmin*float32(mins[s]), inverse(d*float32(scales[s]))
		for l, f := range src[32*s : 32*s+32] {
			q[32*s+l] = uint8(round((f+offset)*inv, 0, levels))
		}
	}
	packScaleMin((*[12]byte)(head[4:]), &scales, &mins)
	return q
}

// spanOf returns the scale and the negated minimum that the elements of a sub-block need for codes 0…levels.
func spanOf(sub []float32, levels int) (scale, offset float32) {
	lo, hi := sub[0], sub[0]
	for _, f := range sub {
		lo, hi = min(lo, f), max(hi, f)
	}
	lo = min(lo, 0) // the format can only subtract
	return (max(hi, lo) - lo) / float32(levels), -lo
}
