package linalg

import "mla/runtime/quant"

// scaled512 is the layout of panels of scaled weights.
var scaled512 = &panelKind{16, 16, 16, []panelLoop{{6, panel4x6AVX512}, {4, panel4x4AVX512}}}

var panels512 = panelLoops{
	rows: 4, lanes: 16, sum: sumLanesAVX512, least: 24,
	formats: map[quant.Type]panelFormat{
		quant.F32:    {scaled512, decodeF32AVX512, false},
		quant.F16:    {scaled512, decodeF16AVX512, false},
		quant.BF16:   {scaled512, decodeBF16AVX512, false},
		quant.Q4_0:   {scaled512, decodeQ4_0AVX512, false},
		quant.Q4_1:   {scaled512, decodeQ4_1AVX512, false},
		quant.Q5_0:   {scaled512, decodeQ5_0AVX512, false},
		quant.Q5_1:   {scaled512, decodeQ5_1AVX512, false},
		quant.Q8_0:   {scaled512, decodeQ8_0AVX512, false},
		quant.IQ4_NL: {scaled512, decodeIQ4_NLAVX512, false},
		quant.MXFP4:  {scaled512, decodeMXFP4AVX512, false},
		quant.Q4_K:   {scaled512, decodeQ4_KAVX512, false},
		quant.Q5_K:   {scaled512, decodeQ5_KAVX512, false},
		quant.Q6_K:   {scaled512, decodeQ6_KAVX512, false},
		quant.IQ4_XS: {scaled512, decodeIQ4_XSAVX512, false},
	},
}

// Layouts of panels of codes and their scales, for inputs as single2 and pairs2 arrange them or as they are.
var (
	plain2      = &panelKind{32, 40, 32, []panelLoop{{6, panelSingle2x6AVX2}, {4, panelSingle2x4AVX2}}}
	singleSums2 = &panelKind{32, 40, 40, []panelLoop{{6, panelSingleSums2x6AVX2}, {4, panelSingleSums2x4AVX2}}}
	singleMin2  = &panelKind{32, 48, 40, []panelLoop{{6, panelSingleMin2x6AVX2}, {4, panelSingleMin2x4AVX2}}}
	pairsSums2  = &panelKind{64, 72, 72, []panelLoop{{6, panelPairsSums2x6AVX2}, {4, panelPairsSums2x4AVX2}}}
	pairsMin2   = &panelKind{64, 80, 72, []panelLoop{{6, panelPairsMin2x6AVX2}, {4, panelPairsMin2x4AVX2}}}
)

var panels2 = panelLoops{
	rows: 2, lanes: 8, sum: sumLanesAVX2, least: 40,
	formats: map[quant.Type]panelFormat{
		quant.Q4_0:   {pairsSums2, decodeQ4_0AVX2, false},
		quant.Q4_1:   {pairsMin2, decodeQ4_1AVX2, false},
		quant.Q5_0:   {pairsSums2, decodeQ5_0AVX2, false},
		quant.Q5_1:   {pairsMin2, decodeQ5_1AVX2, false},
		quant.Q8_0:   {plain2, decodeQ8_0AVX2, false},
		quant.IQ4_NL: {pairsSums2, decodeIQ4_NLAVX2, false},
		quant.MXFP4:  {pairsSums2, decodeMXFP4AVX2, false},
		quant.Q4_K:   {singleMin2, decodeQ4_KAVX2, false},
		quant.Q5_K:   {singleMin2, decodeQ5_KAVX2, false},
		quant.Q6_K:   {singleSums2, decodeQ6_KAVX2, false},
		quant.IQ4_XS: {singleSums2, decodeIQ4_XSAVX2, false},
	},
}
