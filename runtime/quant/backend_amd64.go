package quant

import "golang.org/x/sys/cpu"

// backends lists the back ends of this machine, best first.
func backends() []*backend {
	var list []*backend
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	if avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		list = append(list, &avx512Backend)
	}
	if avx2 {
		list = append(list, &avx2Backend)
	}
	return append(list, &goBackend)
}

var avx512Backend = backend{
	name: "avx512",
	kernels: map[Type]kernel{
		F32:    {32, dotF32AVX512, nil, [2]tile{{2, 4, dotF32_2x4AVX512}, {2, 2, dotF32_2x2AVX512}}, nil},
		F16:    {32, dotF16AVX512, dotF16x4AVX512, [2]tile{{2, 4, dotF16_2x4AVX512}, {2, 2, dotF16_2x2AVX512}}, nil},
		BF16:   {32, dotBF16AVX512, dotBF16x4AVX512, [2]tile{{2, 4, dotBF16_2x4AVX512}, {2, 2, dotBF16_2x2AVX512}}, nil},
		Q4_0:   {32, dotQ4_0AVX512, dotQ4_0x4AVX512, [2]tile{{2, 4, dotQ4_0_2x4AVX512}, {2, 2, dotQ4_0_2x2AVX512}}, nil},
		Q4_1:   {32, dotQ4_1AVX512, dotQ4_1x4AVX512, [2]tile{{2, 4, dotQ4_1_2x4AVX512}, {2, 2, dotQ4_1_2x2AVX512}}, nil},
		Q5_0:   {32, dotQ5_0AVX512, dotQ5_0x4AVX512, [2]tile{{2, 4, dotQ5_0_2x4AVX512}, {2, 2, dotQ5_0_2x2AVX512}}, nil},
		Q5_1:   {32, dotQ5_1AVX512, dotQ5_1x4AVX512, [2]tile{{2, 4, dotQ5_1_2x4AVX512}, {2, 2, dotQ5_1_2x2AVX512}}, nil},
		Q8_0:   {32, dotQ8_0AVX512, dotQ8_0x4AVX512, [2]tile{{2, 4, dotQ8_0_2x4AVX512}, {2, 2, dotQ8_0_2x2AVX512}}, nil},
		IQ4_NL: {32, dotIQ4_NLAVX512, dotIQ4_NLx4AVX512, [2]tile{{2, 4, dotIQ4_NL_2x4AVX512}, {2, 2, dotIQ4_NL_2x2AVX512}}, nil},
		MXFP4:  {32, dotMXFP4AVX512, dotMXFP4x4AVX512, [2]tile{{2, 4, dotMXFP4_2x4AVX512}, {2, 2, dotMXFP4_2x2AVX512}}, nil},
		Q4_K:   {superBlock, dotQ4_KAVX512, dotQ4_Kx4AVX512, [2]tile{{2, 4, dotQ4_K_2x4AVX512}, {2, 2, dotQ4_K_2x2AVX512}}, nil},
		Q5_K:   {superBlock, dotQ5_KAVX512, dotQ5_Kx4AVX512, [2]tile{{2, 4, dotQ5_K_2x4AVX512}, {2, 2, dotQ5_K_2x2AVX512}}, nil},
		Q6_K:   {superBlock, dotQ6_KAVX512, dotQ6_Kx4AVX512, [2]tile{{2, 4, dotQ6_K_2x4AVX512}, {2, 2, dotQ6_K_2x2AVX512}}, nil},
		IQ4_XS: {superBlock, dotIQ4_XSAVX512, dotIQ4_XSx4AVX512, [2]tile{{2, 4, dotIQ4_XS_2x4AVX512}, {2, 2, dotIQ4_XS_2x2AVX512}}, nil},
	},
	vectors: &vectorLoops{
		dot:   dotVectorsAVX512,
		axpy:  axpyAVX512,
		scale: scaleAVX512,
		widen: widenAVX512,
		round: roundAVX512,
		exp:   expAVX512,
	},
	products: []productLoop{
		{4, 64, product4x64AVX512},
		{1, 64, product1x64AVX512},
		{16, 16, product16x16AVX512},
		{4, 16, product4x16AVX512},
		{1, 16, product1x16AVX512},
	},
}

var avx2Backend = backend{
	name:    "avx2",
	arrange: arrangeAVX2,
	// Sums of x are for what codes count from, for minima, or to subtract these. The
	// last of four nibbles is 2^24 times too large, the last byte is shifted down.
	kernels: map[Type]kernel{
		F32:    {32, dotF32AVX2, dotF32x4AVX2, [2]tile{{1, 4, dotF32_1x4AVX2}, {2, 2, dotF32_2x2AVX2}}, nil},
		F16:    {32, dotF16AVX2, dotF16x4AVX2, [2]tile{{1, 4, dotF16_1x4AVX2}, {2, 2, dotF16_2x2AVX2}}, nil},
		BF16:   {32, dotBF16AVX2, dotBF16x4AVX2, [2]tile{{1, 4, dotBF16_1x4AVX2}, {2, 2, dotBF16_2x2AVX2}}, nil},
		Q4_0:   {32, dotQ4_0AVX2, dotQ4_0x4AVX2, [2]tile{{2, 2, dotQ4_0_2x2AVX2}}, &arrangement{-8, 0x1p-24}},
		Q4_1:   {32, dotQ4_1AVX2, dotQ4_1x4AVX2, [2]tile{{2, 2, dotQ4_1_2x2AVX2}}, &arrangement{1, 0x1p-24}},
		Q5_0:   {32, dotQ5_0AVX2, dotQ5_0x4AVX2, [2]tile{{2, 2, dotQ5_0_2x2AVX2}}, &arrangement{-16, 1}},
		Q5_1:   {32, dotQ5_1AVX2, dotQ5_1x4AVX2, [2]tile{{2, 2, dotQ5_1_2x2AVX2}}, &arrangement{1, 1}},
		Q8_0:   {32, dotQ8_0AVX2, dotQ8_0x4AVX2, [2]tile{{2, 2, dotQ8_0_2x2AVX2}}, nil},
		IQ4_NL: {32, dotIQ4_NLAVX2, dotIQ4_NLx4AVX2, [2]tile{{2, 2, dotIQ4_NL_2x2AVX2}}, &arrangement{-127, 1}},
		MXFP4:  {32, dotMXFP4AVX2, dotMXFP4x4AVX2, [2]tile{{2, 2, dotMXFP4_2x2AVX2}}, &arrangement{-12, 1}},
		Q4_K:   {superBlock, dotQ4_KAVX2, dotQ4_Kx4AVX2, [2]tile{{2, 2, dotQ4_K_2x2AVX2}}, &arrangement{-1, 0x1p-24}},
		Q5_K:   {superBlock, dotQ5_KAVX2, dotQ5_Kx4AVX2, [2]tile{{2, 2, dotQ5_K_2x2AVX2}}, &arrangement{-1, 1}},
		Q6_K:   {superBlock, dotQ6_KAVX2, dotQ6_Kx4AVX2, [2]tile{{2, 2, dotQ6_K_2x2AVX2}}, &arrangement{-32, 1}},
		IQ4_XS: {superBlock, dotIQ4_XSAVX2, dotIQ4_XSx4AVX2, [2]tile{{2, 2, dotIQ4_XS_2x2AVX2}}, &arrangement{-127, 1}},
	},
	vectors: &vectorLoops{
		dot:   dotVectorsAVX2,
		axpy:  axpyAVX2,
		scale: scaleAVX2,
		widen: widenAVX2,
		round: roundAVX2,
		exp:   expAVX2,
	},
	products: []productLoop{
		{6, 16, product6x16AVX2},
		{4, 16, product4x16AVX2},
		{2, 16, product2x16AVX2},
		{1, 16, product1x16AVX2},
	},
}
