package linalg

import (
	"golang.org/x/sys/cpu"

	"mla/runtime/quant"
)

// backends lists the back ends of this machine, best first.
func backends() []*backend {
	var list []*backend
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C
	if avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		if !cpu.X86.HasAVX512VNNI {
			avx512Backend.int8 = int8Kernels
		}
		list = append(list, &avx512Backend)
	}
	if avx2 {
		list = append(list, &avx2Backend)
	}
	return append(list, &goBackend)
}

var avx512Backend = backend{
	name: "avx512",
	kernels: map[quant.Type]kernel{
		quant.F32:    {32, dotF32AVX512, nil, [2]tile{{2, 4, dotF32_2x4AVX512}, {2, 2, dotF32_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.F16:    {32, dotF16AVX512, dotF16x4AVX512, [2]tile{{2, 4, dotF16_2x4AVX512}, {2, 2, dotF16_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.BF16:   {32, dotBF16AVX512, dotBF16x4AVX512, [2]tile{{2, 4, dotBF16_2x4AVX512}, {2, 2, dotBF16_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q4_0:   {32, dotQ4_0AVX512, dotQ4_0x4AVX512, [2]tile{{2, 4, dotQ4_0_2x4AVX512}, {2, 2, dotQ4_0_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q4_1:   {32, dotQ4_1AVX512, dotQ4_1x4AVX512, [2]tile{{2, 4, dotQ4_1_2x4AVX512}, {2, 2, dotQ4_1_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q5_0:   {32, dotQ5_0AVX512, dotQ5_0x4AVX512, [2]tile{{2, 4, dotQ5_0_2x4AVX512}, {2, 2, dotQ5_0_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q5_1:   {32, dotQ5_1AVX512, dotQ5_1x4AVX512, [2]tile{{2, 4, dotQ5_1_2x4AVX512}, {2, 2, dotQ5_1_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q8_0:   {32, dotQ8_0AVX512, dotQ8_0x4AVX512, [2]tile{{2, 4, dotQ8_0_2x4AVX512}, {2, 2, dotQ8_0_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.IQ4_NL: {32, dotIQ4_NLAVX512, dotIQ4_NLx4AVX512, [2]tile{{2, 4, dotIQ4_NL_2x4AVX512}, {2, 2, dotIQ4_NL_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.MXFP4:  {32, dotMXFP4AVX512, dotMXFP4x4AVX512, [2]tile{{2, 4, dotMXFP4_2x4AVX512}, {2, 2, dotMXFP4_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q4_K:   {quant.SuperBlock, dotQ4_KAVX512, dotQ4_Kx4AVX512, [2]tile{{2, 4, dotQ4_K_2x4AVX512}, {2, 2, dotQ4_K_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q5_K:   {quant.SuperBlock, dotQ5_KAVX512, dotQ5_Kx4AVX512, [2]tile{{2, 4, dotQ5_K_2x4AVX512}, {2, 2, dotQ5_K_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.Q6_K:   {quant.SuperBlock, dotQ6_KAVX512, dotQ6_Kx4AVX512, [2]tile{{2, 4, dotQ6_K_2x4AVX512}, {2, 2, dotQ6_K_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
		quant.IQ4_XS: {quant.SuperBlock, dotIQ4_XSAVX512, dotIQ4_XSx4AVX512, [2]tile{{2, 4, dotIQ4_XS_2x4AVX512}, {2, 2, dotIQ4_XS_2x2AVX512}}, stretchLoops{}, nil, nil, nil},
	},
	int8: int8Kernels512,
	vectors: &vectorLoops{
		dot:    dotVectorsAVX512,
		axpy:   axpyAVX512,
		fade:   fadeAVX512,
		scale:  scaleAVX512,
		widen:  widenAVX512,
		round:  roundAVX512,
		scaled: scaledAVX512,
		exp:    expAVX512,
	},
	panels: &panels512,
	products: []productLoop{
		{4, 64, product4x64AVX512},
		{1, 64, product1x64AVX512},
		{16, 16, product16x16AVX512},
		{4, 16, product4x16AVX512},
		{1, 16, product1x16AVX512},
	},
}

// Input layouts of the AVX2 loops: 32 elements and their sums, or two blocks of 32 elements and their sums.
var (
	single2 = &arranger{from: 32, to: 40, run: arrangeAVX2}
	pairs2  = &arranger{from: 64, to: 72, run: arrangePairsAVX2}
)

func stretch2(add stretchFunc) stretchLoops { return stretchLoops{add, sumLanesAVX2} }

var avx2Backend = backend{
	name: "avx2",
	// Sums of x serve formats with an offset or a minimum. The last of four nibbles is decoded 2^24 times too
	// large, and the factor of the fourth element corrects that. The last of four bytes is shifted down and
	// needs no factor.
	kernels: map[quant.Type]kernel{
		quant.F32:    {32, dotF32AVX2, dotF32x4AVX2, [2]tile{{1, 4, dotF32_1x4AVX2}, {2, 2, dotF32_2x2AVX2}}, stretchLoops{}, nil, nil, nil},
		quant.F16:    {32, dotF16AVX2, dotF16x4AVX2, [2]tile{{1, 4, dotF16_1x4AVX2}, {2, 2, dotF16_2x2AVX2}}, stretchLoops{}, nil, nil, nil},
		quant.BF16:   {32, dotBF16AVX2, dotBF16x4AVX2, [2]tile{{1, 4, dotBF16_1x4AVX2}, {2, 2, dotBF16_2x2AVX2}}, stretchLoops{}, nil, nil, nil},
		quant.Q4_0:   {2 * 32, dotQ4_0AVX2, dotQ4_0x4AVX2, [2]tile{{2, 2, dotQ4_0_2x2AVX2}}, stretch2(addQ4_0_2x4AVX2), &arrangement{pairs2, -8, 0x1p-24}, nil, nil},
		quant.Q4_1:   {2 * 32, dotQ4_1AVX2, dotQ4_1x4AVX2, [2]tile{{2, 2, dotQ4_1_2x2AVX2}}, stretch2(addQ4_1_2x4AVX2), &arrangement{pairs2, 1, 0x1p-24}, nil, nil},
		quant.Q5_0:   {2 * 32, dotQ5_0AVX2, dotQ5_0x4AVX2, [2]tile{{2, 2, dotQ5_0_2x2AVX2}}, stretch2(addQ5_0_2x4AVX2), &arrangement{pairs2, -16, 1}, nil, nil},
		quant.Q5_1:   {2 * 32, dotQ5_1AVX2, dotQ5_1x4AVX2, [2]tile{{2, 2, dotQ5_1_2x2AVX2}}, stretch2(addQ5_1_2x4AVX2), &arrangement{pairs2, 1, 1}, nil, nil},
		quant.Q8_0:   {32, dotQ8_0AVX2, dotQ8_0x4AVX2, [2]tile{{2, 2, dotQ8_0_2x2AVX2}}, stretch2(addQ8_0_2x4AVX2), nil, nil, nil},
		quant.IQ4_NL: {2 * 32, dotIQ4_NLAVX2, dotIQ4_NLx4AVX2, [2]tile{{2, 2, dotIQ4_NL_2x2AVX2}}, stretch2(addIQ4_NL_2x4AVX2), &arrangement{pairs2, -127, 1}, nil, nil},
		quant.MXFP4:  {2 * 32, dotMXFP4AVX2, dotMXFP4x4AVX2, [2]tile{{2, 2, dotMXFP4_2x2AVX2}}, stretch2(addMXFP4_2x4AVX2), &arrangement{pairs2, -12, 1}, nil, nil},
		quant.Q4_K:   {quant.SuperBlock, dotQ4_KAVX2, dotQ4_Kx4AVX2, [2]tile{{2, 2, dotQ4_K_2x2AVX2}}, stretch2(addQ4_K_2x4AVX2), &arrangement{single2, -1, 0x1p-24}, nil, nil},
		quant.Q5_K:   {quant.SuperBlock, dotQ5_KAVX2, dotQ5_Kx4AVX2, [2]tile{{2, 2, dotQ5_K_2x2AVX2}}, stretch2(addQ5_K_2x4AVX2), &arrangement{single2, -1, 1}, nil, nil},
		quant.Q6_K:   {quant.SuperBlock, dotQ6_KAVX2, dotQ6_Kx4AVX2, [2]tile{{2, 2, dotQ6_K_2x2AVX2}}, stretch2(addQ6_K_2x4AVX2), &arrangement{single2, -32, 1}, nil, nil},
		quant.IQ4_XS: {quant.SuperBlock, dotIQ4_XSAVX2, dotIQ4_XSx4AVX2, [2]tile{{2, 2, dotIQ4_XS_2x2AVX2}}, stretch2(addIQ4_XS_2x4AVX2), &arrangement{single2, -127, 1}, nil, nil},
	},
	int8: int8Kernels,
	vectors: &vectorLoops{
		dot:    dotVectorsAVX2,
		axpy:   axpyAVX2,
		fade:   fadeAVX2,
		scale:  scaleAVX2,
		widen:  widenAVX2,
		round:  roundAVX2,
		scaled: scaledAVX2,
		exp:    expAVX2,
	},
	panels: &panels2,
	products: []productLoop{
		{6, 16, product6x16AVX2},
		{4, 16, product4x16AVX2},
		{2, 16, product2x16AVX2},
		{1, 16, product1x16AVX2},
	},
}

// Input layouts of the int8 loops: bytes, scales and sums.
var (
	single8    = &arranger{from: 32, to: 24, run: int8AVX2}
	pairs8     = &arranger{from: 64, to: 32, run: int8PairsAVX2}
	pairs8Min  = &arranger{from: 64, to: 32, run: int8PairsMinAVX2}
	blocks8    = &arranger{from: 64, to: 48, run: int8BlocksAVX2}
	blocks8Min = &arranger{from: 64, to: 48, run: int8BlocksMinAVX2}
	super8     = &arranger{from: quant.SuperBlock, to: 80, run: int8SuperAVX2}
)

// int8Kernels is for any machine with AVX2. Sums of x serve formats with an offset or a minimum; signed codes
// need none.
var int8Kernels = map[quant.Type]kernel{
	quant.Q4_0:        {2 * 32, dotQ4_0Int8AVX2, dotQ4_0Int8x4AVX2, [2]tile{{2, 2, dotQ4_0Int8_2x2AVX2}}, stretch2(addQ4_0Int8_2x4AVX2), &arrangement{pairs8, -8, 1}, nil, nil},
	quant.Q4_1:        {2 * 32, dotQ4_1Int8AVX2, dotQ4_1Int8x4AVX2, [2]tile{{2, 2, dotQ4_1Int8_2x2AVX2}}, stretch2(addQ4_1Int8_2x4AVX2), &arrangement{pairs8Min, 1, 1}, nil, nil},
	quant.Q5_0:        {2 * 32, dotQ5_0Int8AVX2, dotQ5_0Int8x4AVX2, [2]tile{{2, 2, dotQ5_0Int8_2x2AVX2}}, stretch2(addQ5_0Int8_2x4AVX2), &arrangement{pairs8, -16, 1}, nil, nil},
	quant.Q5_1:        {2 * 32, dotQ5_1Int8AVX2, dotQ5_1Int8x4AVX2, [2]tile{{2, 2, dotQ5_1Int8_2x2AVX2}}, stretch2(addQ5_1Int8_2x4AVX2), &arrangement{pairs8Min, 1, 1}, nil, nil},
	quant.Q8_0:        {32, dotQ8_0Int8AVX2, dotQ8_0Int8x4AVX2, [2]tile{{2, 2, dotQ8_0Int8_2x2AVX2}}, stretch2(addQ8_0Int8_2x4AVX2), &arrangement{single8, 0, 1}, nil, nil},
	quant.IQ4_NL:      {2 * 32, dotIQ4_NLInt8AVX2, dotIQ4_NLInt8x4AVX2, [2]tile{{2, 2, dotIQ4_NLInt8_2x2AVX2}}, stretch2(addIQ4_NLInt8_2x4AVX2), &arrangement{pairs8, 0, 1}, nil, nil},
	quant.MXFP4:       {2 * 32, dotMXFP4Int8AVX2, dotMXFP4Int8x4AVX2, [2]tile{{2, 2, dotMXFP4Int8_2x2AVX2}}, stretch2(addMXFP4Int8_2x4AVX2), &arrangement{pairs8, 0, 1}, nil, nil},
	quant.Q4_K:        {quant.SuperBlock, dotQ4_KInt8AVX2, dotQ4_KInt8x4AVX2, [2]tile{{2, 2, dotQ4_KInt8_2x2AVX2}}, stretch2(addQ4_KInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.Q5_K:        {quant.SuperBlock, dotQ5_KInt8AVX2, dotQ5_KInt8x4AVX2, [2]tile{{2, 2, dotQ5_KInt8_2x2AVX2}}, stretch2(addQ5_KInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.Q6_K:        {quant.SuperBlock, dotQ6_KInt8AVX2, dotQ6_KInt8x4AVX2, [2]tile{{2, 2, dotQ6_KInt8_2x2AVX2}}, stretch2(addQ6_KInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ4_XS:      {quant.SuperBlock, dotIQ4_XSInt8AVX2, dotIQ4_XSInt8x4AVX2, [2]tile{{2, 2, dotIQ4_XSInt8_2x2AVX2}}, stretch2(addIQ4_XSInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.Q2_K:        {quant.SuperBlock, dotQ2_KInt8AVX2, dotQ2_KInt8x4AVX2, [2]tile{{2, 2, dotQ2_KInt8_2x2AVX2}}, stretch2(addQ2_KInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.Q3_K:        {quant.SuperBlock, dotQ3_KInt8AVX2, dotQ3_KInt8x4AVX2, [2]tile{{2, 2, dotQ3_KInt8_2x2AVX2}}, stretch2(addQ3_KInt8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.TQ2_0:       {quant.SuperBlock, dotTQ2_0Int8AVX2, dotTQ2_0Int8x4AVX2, [2]tile{{2, 2, dotTQ2_0Int8_2x2AVX2}}, stretch2(addTQ2_0Int8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.TQ1_0:       {quant.SuperBlock, dotTQ1_0Int8AVX2, dotTQ1_0Int8x4AVX2, [2]tile{{2, 2, dotTQ1_0Int8_2x2AVX2}}, stretch2(addTQ1_0Int8_2x4AVX2), &arrangement{super8, 1, 1}, nil, nil},
	quant.Q1_0:        {128, dotQ1_0Int8AVX2, dotQ1_0Int8x4AVX2, [2]tile{{2, 2, dotQ1_0Int8_2x2AVX2}}, stretch2(addQ1_0Int8_2x4AVX2), &arrangement{pairs8, -1, 1}, nil, nil},
	quant.Q2_0:        {64, dotQ2_0Int8AVX2, dotQ2_0Int8x4AVX2, [2]tile{{2, 2, dotQ2_0Int8_2x2AVX2}}, stretch2(addQ2_0Int8_2x4AVX2), &arrangement{pairs8, -1, 1}, nil, nil},
	quant.NVFP4:       {64, dotNVFP4Int8AVX2, dotNVFP4Int8x4AVX2, [2]tile{{2, 2, dotNVFP4Int8_2x2AVX2}}, stretch2(addNVFP4Int8_2x4AVX2), &arrangement{single8, 0, 1}, nil, nil},
	quant.NVFP4Scaled: {64, dotNVFP4_SCALEDInt8AVX2, dotNVFP4_SCALEDInt8x4AVX2, [2]tile{{2, 2, dotNVFP4_SCALEDInt8_2x2AVX2}}, stretch2(addNVFP4_SCALEDInt8_2x4AVX2), &arrangement{single8, 0, 1}, nil, nil},

	quant.IQ2_XXS: {quant.SuperBlock, dotIQ2_XXSInt8AVX2, nil, [2]tile{{1, 4, dotIQ2_XXSInt8_1x4AVX2}, {1, 2, dotIQ2_XXSInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ2_XS:  {quant.SuperBlock, dotIQ2_XSInt8AVX2, nil, [2]tile{{1, 4, dotIQ2_XSInt8_1x4AVX2}, {1, 2, dotIQ2_XSInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ2_S:   {quant.SuperBlock, dotIQ2_SInt8AVX2, nil, [2]tile{{1, 4, dotIQ2_SInt8_1x4AVX2}, {1, 2, dotIQ2_SInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ3_XXS: {quant.SuperBlock, dotIQ3_XXSInt8AVX2, nil, [2]tile{{1, 4, dotIQ3_XXSInt8_1x4AVX2}, {1, 2, dotIQ3_XXSInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ3_S:   {quant.SuperBlock, dotIQ3_SInt8AVX2, nil, [2]tile{{1, 4, dotIQ3_SInt8_1x4AVX2}, {1, 2, dotIQ3_SInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ1_S:   {quant.SuperBlock, dotIQ1_SInt8AVX2, nil, [2]tile{{1, 4, dotIQ1_SInt8_1x4AVX2}, {1, 2, dotIQ1_SInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ1_M:   {quant.SuperBlock, dotIQ1_MInt8AVX2, nil, [2]tile{{1, 4, dotIQ1_MInt8_1x4AVX2}, {1, 2, dotIQ1_MInt8_1x2AVX2}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
}

// int8Kernels512 are for AVX-512 with VNNI.
var int8Kernels512 = map[quant.Type]kernel{
	quant.Q4_0:        {2 * 32, dotQ4_0Int8AVX512, dotQ4_0Int8x4AVX512, [2]tile{{2, 4, dotQ4_0Int8_2x4AVX512}, {2, 2, dotQ4_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -8, 1}, nil, nil},
	quant.Q4_1:        {2 * 32, dotQ4_1Int8AVX512, dotQ4_1Int8x4AVX512, [2]tile{{2, 4, dotQ4_1Int8_2x4AVX512}, {2, 2, dotQ4_1Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8Min, 1, 1}, nil, nil},
	quant.Q5_0:        {2 * 32, dotQ5_0Int8AVX512, dotQ5_0Int8x4AVX512, [2]tile{{2, 4, dotQ5_0Int8_2x4AVX512}, {2, 2, dotQ5_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -16, 1}, nil, nil},
	quant.Q5_1:        {2 * 32, dotQ5_1Int8AVX512, dotQ5_1Int8x4AVX512, [2]tile{{2, 4, dotQ5_1Int8_2x4AVX512}, {2, 2, dotQ5_1Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8Min, 1, 1}, nil, nil},
	quant.Q8_0:        {2 * 32, dotQ8_0Int8AVX512, dotQ8_0Int8x4AVX512, [2]tile{{2, 4, dotQ8_0Int8_2x4AVX512}, {2, 2, dotQ8_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -128, 1}, nil, nil},
	quant.IQ4_NL:      {2 * 32, dotIQ4_NLInt8AVX512, dotIQ4_NLInt8x4AVX512, [2]tile{{2, 4, dotIQ4_NLInt8_2x4AVX512}, {2, 2, dotIQ4_NLInt8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -127, 1}, nil, nil},
	quant.MXFP4:       {2 * 32, dotMXFP4Int8AVX512, dotMXFP4Int8x4AVX512, [2]tile{{2, 4, dotMXFP4Int8_2x4AVX512}, {2, 2, dotMXFP4Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -12, 1}, nil, nil},
	quant.Q4_K:        {quant.SuperBlock, dotQ4_KInt8AVX512, dotQ4_KInt8x4AVX512, [2]tile{{2, 4, dotQ4_KInt8_2x4AVX512}, {2, 2, dotQ4_KInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.Q5_K:        {quant.SuperBlock, dotQ5_KInt8AVX512, dotQ5_KInt8x4AVX512, [2]tile{{2, 4, dotQ5_KInt8_2x4AVX512}, {2, 2, dotQ5_KInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.Q6_K:        {quant.SuperBlock, dotQ6_KInt8AVX512, dotQ6_KInt8x4AVX512, [2]tile{{2, 4, dotQ6_KInt8_2x4AVX512}, {2, 2, dotQ6_KInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ4_XS:      {quant.SuperBlock, dotIQ4_XSInt8AVX512, dotIQ4_XSInt8x4AVX512, [2]tile{{2, 4, dotIQ4_XSInt8_2x4AVX512}, {2, 2, dotIQ4_XSInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.Q2_K:        {quant.SuperBlock, dotQ2_KInt8AVX512, dotQ2_KInt8x4AVX512, [2]tile{{2, 4, dotQ2_KInt8_2x4AVX512}, {2, 2, dotQ2_KInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.Q3_K:        {quant.SuperBlock, dotQ3_KInt8AVX512, dotQ3_KInt8x4AVX512, [2]tile{{2, 4, dotQ3_KInt8_2x4AVX512}, {2, 2, dotQ3_KInt8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.TQ2_0:       {quant.SuperBlock, dotTQ2_0Int8AVX512, dotTQ2_0Int8x4AVX512, [2]tile{{2, 4, dotTQ2_0Int8_2x4AVX512}, {2, 2, dotTQ2_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.TQ1_0:       {quant.SuperBlock, dotTQ1_0Int8AVX512, dotTQ1_0Int8x4AVX512, [2]tile{{2, 4, dotTQ1_0Int8_2x4AVX512}, {2, 2, dotTQ1_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.Q1_0:        {128, dotQ1_0Int8AVX512, dotQ1_0Int8x4AVX512, [2]tile{{2, 4, dotQ1_0Int8_2x4AVX512}, {2, 2, dotQ1_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -1, 1}, nil, nil},
	quant.Q2_0:        {64, dotQ2_0Int8AVX512, dotQ2_0Int8x4AVX512, [2]tile{{2, 4, dotQ2_0Int8_2x4AVX512}, {2, 2, dotQ2_0Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -1, 1}, nil, nil},
	quant.NVFP4:       {64, dotNVFP4Int8AVX512, dotNVFP4Int8x4AVX512, [2]tile{{2, 4, dotNVFP4Int8_2x4AVX512}, {2, 2, dotNVFP4Int8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -12, 1}, nil, nil},
	quant.NVFP4Scaled: {64, dotNVFP4_SCALEDInt8AVX512, dotNVFP4_SCALEDInt8x4AVX512, [2]tile{{2, 4, dotNVFP4_SCALEDInt8_2x4AVX512}, {2, 2, dotNVFP4_SCALEDInt8_2x2AVX512}}, stretchLoops{}, &arrangement{blocks8, -12, 1}, nil, nil},

	quant.IQ2_XXS: {quant.SuperBlock, dotIQ2_XXSInt8AVX512, nil, [2]tile{{1, 4, dotIQ2_XXSInt8_1x4AVX512}, {1, 2, dotIQ2_XXSInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ2_XS:  {quant.SuperBlock, dotIQ2_XSInt8AVX512, nil, [2]tile{{1, 4, dotIQ2_XSInt8_1x4AVX512}, {1, 2, dotIQ2_XSInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ2_S:   {quant.SuperBlock, dotIQ2_SInt8AVX512, nil, [2]tile{{1, 4, dotIQ2_SInt8_1x4AVX512}, {1, 2, dotIQ2_SInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ3_XXS: {quant.SuperBlock, dotIQ3_XXSInt8AVX512, nil, [2]tile{{1, 4, dotIQ3_XXSInt8_1x4AVX512}, {1, 2, dotIQ3_XXSInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ3_S:   {quant.SuperBlock, dotIQ3_SInt8AVX512, nil, [2]tile{{1, 4, dotIQ3_SInt8_1x4AVX512}, {1, 2, dotIQ3_SInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ1_S:   {quant.SuperBlock, dotIQ1_SInt8AVX512, nil, [2]tile{{1, 4, dotIQ1_SInt8_1x4AVX512}, {1, 2, dotIQ1_SInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
	quant.IQ1_M:   {quant.SuperBlock, dotIQ1_MInt8AVX512, nil, [2]tile{{1, 4, dotIQ1_MInt8_1x4AVX512}, {1, 2, dotIQ1_MInt8_1x2AVX512}}, stretchLoops{}, &arrangement{super8, 1, 1}, nil, nil},
}
