package linalg

import (
	"maps"

	"mla/runtime/quant"
)

// init adds the formats below four bits, and NVFP4. They have loops for one input; for several inputs, rows are
// decoded to floats and multiplied, with the same bits. AVX-512 has loops of its own for some of these formats.
// The others use AVX2's loops, for decoded rows too.
func init() {
	floats2 := avx2Backend.kernels[quant.F32]
	low := map[quant.Type]kernel{
		quant.Q2_K:    {one: dotQ2_KAVX2, four: dotQ2_Kx4AVX2, decode: decodeQ2_KAVX2},
		quant.Q3_K:    {one: dotQ3_KAVX2, four: dotQ3_Kx4AVX2, decode: decodeQ3_KAVX2},
		quant.IQ2_XXS: {one: dotIQ2_XXSAVX2, four: dotIQ2_XXSx4AVX2, decode: decodeIQ2_XXSAVX2},
		quant.IQ2_XS:  {one: dotIQ2_XSAVX2, four: dotIQ2_XSx4AVX2, decode: decodeIQ2_XSAVX2},
		quant.IQ2_S:   {one: dotIQ2_SAVX2, four: dotIQ2_Sx4AVX2, decode: decodeIQ2_SAVX2},
		quant.IQ3_XXS: {one: dotIQ3_XXSAVX2, four: dotIQ3_XXSx4AVX2, decode: decodeIQ3_XXSAVX2},
		quant.IQ3_S:   {one: dotIQ3_SAVX2, four: dotIQ3_Sx4AVX2, decode: decodeIQ3_SAVX2},
		quant.IQ1_S:   {one: dotIQ1_SAVX2, four: dotIQ1_Sx4AVX2, decode: decodeIQ1_SAVX2},
		quant.IQ1_M:   {one: dotIQ1_MAVX2, four: dotIQ1_Mx4AVX2, decode: decodeIQ1_MAVX2},
		quant.TQ1_0:   {one: dotTQ1_0AVX2, four: dotTQ1_0x4AVX2, decode: decodeTQ1_0AVX2},
		quant.TQ2_0:   {one: dotTQ2_0AVX2, four: dotTQ2_0x4AVX2, decode: decodeTQ2_0AVX2},
		quant.Q1_0:    {one: dotQ1_0AVX2, four: dotQ1_0x4AVX2, decode: decodeQ1_0AVX2},
		quant.Q2_0:    {one: dotQ2_0AVX2, four: dotQ2_0x4AVX2, decode: decodeQ2_0AVX2},
		quant.NVFP4:   {one: dotNVFP4AVX2, four: dotNVFP4x4AVX2, decode: decodeNVFP4AVX2},

		quant.NVFP4Scaled: {one: dotNVFP4_SCALEDAVX2, four: dotNVFP4_SCALEDx4AVX2, decode: decodeNVFP4_SCALEDAVX2},
	}
	for t, k := range low {
		f, _ := quant.Lookup(t)
		k.step, k.floats = f.BlockElems, &floats2
		low[t] = k
	}
	maps.Copy(avx2Backend.kernels, low)
	maps.Copy(avx512Backend.kernels, low)
	floats512 := avx512Backend.kernels[quant.F32]
	for t, k := range map[quant.Type]kernel{
		quant.Q2_K:  {one: dotQ2_KAVX512, four: dotQ2_Kx4AVX512, decode: decodeQ2_KAVX512},
		quant.Q3_K:  {one: dotQ3_KAVX512, four: dotQ3_Kx4AVX512, decode: decodeQ3_KAVX512},
		quant.TQ2_0: {one: dotTQ2_0AVX512, four: dotTQ2_0x4AVX512, decode: decodeTQ2_0AVX512},
		quant.Q1_0:  {one: dotQ1_0AVX512, four: dotQ1_0x4AVX512, decode: decodeQ1_0AVX512},
		quant.Q2_0:  {one: dotQ2_0AVX512, four: dotQ2_0x4AVX512, decode: decodeQ2_0AVX512},
		quant.NVFP4: {one: dotNVFP4AVX512, four: dotNVFP4x4AVX512, decode: decodeNVFP4AVX512},

		quant.NVFP4Scaled: {one: dotNVFP4_SCALEDAVX512, four: dotNVFP4_SCALEDx4AVX512, decode: decodeNVFP4_SCALEDAVX512},
	} {
		k.step, k.floats = low[t].step, &floats512
		avx512Backend.kernels[t] = k
		panels512.formats[t] = panelFormat{scaled512, decodeF32AVX512, true}
	}
}
