package linalg

import (
	"maps"

	"golang.org/x/sys/cpu"

	"mla/runtime/quant"
)

// backends lists the back ends of this machine, best first. Every arm64 machine has NEON.
func backends() []*backend { return []*backend{&neonBackend, &goBackend} }

// Input layouts of the int8 loops: bytes, scales and sums.
var (
	blocksNEON = &arrangement{&arranger{from: 32, to: 10, run: int8NEON}, 1, 1}
	superNEON  = &arrangement{&arranger{from: quant.SuperBlock, to: 84, run: int8SuperNEON}, 1, 1}
)

// floatsNEON multiplies rows of floats.
var floatsNEON = kernel{step: 32, one: dotF32NEON, tiles: [2]tile{{2, 3, dotF32_2x3NEON}, {2, 2, dotF32_2x2NEON}}}

// blocksOfNEON is the kernel of a format with steps of elems elements, whose loops multiply one row by one
// input, or decode a row for several inputs.
func blocksOfNEON(elems int, one rowFunc, decode decodeFunc) kernel {
	return kernel{step: elems, one: one, decode: decode, floats: &floatsNEON}
}

var neonBackend = backend{
	name: "neon",
	kernels: map[quant.Type]kernel{
		quant.F32:    floatsNEON,
		quant.F16:    {step: 32, one: dotF16NEON, tiles: [2]tile{{2, 3, dotF16_2x3NEON}, {2, 2, dotF16_2x2NEON}}},
		quant.BF16:   {step: 32, one: dotBF16NEON, tiles: [2]tile{{2, 3, dotBF16_2x3NEON}, {2, 2, dotBF16_2x2NEON}}},
		quant.Q4_0:   blocksOfNEON(32, dotQ4_0NEON, decodeQ4_0NEON),
		quant.Q4_1:   blocksOfNEON(32, dotQ4_1NEON, decodeQ4_1NEON),
		quant.Q5_0:   blocksOfNEON(32, dotQ5_0NEON, decodeQ5_0NEON),
		quant.Q5_1:   blocksOfNEON(32, dotQ5_1NEON, decodeQ5_1NEON),
		quant.Q8_0:   blocksOfNEON(32, dotQ8_0NEON, decodeQ8_0NEON),
		quant.IQ4_NL: blocksOfNEON(32, dotIQ4_NLNEON, decodeIQ4_NLNEON),
		quant.MXFP4:  blocksOfNEON(32, dotMXFP4NEON, decodeMXFP4NEON),
		quant.NVFP4:  blocksOfNEON(64, dotNVFP4NEON, decodeNVFP4NEON),

		quant.NVFP4Scaled: blocksOfNEON(64, dotNVFP4_SCALEDNEON, decodeNVFP4_SCALEDNEON),
		quant.Q1_0:        blocksOfNEON(128, dotQ1_0NEON, decodeQ1_0NEON),
		quant.Q2_0:        blocksOfNEON(64, dotQ2_0NEON, decodeQ2_0NEON),
		quant.Q2_K:        blocksOfNEON(quant.SuperBlock, dotQ2_KNEON, decodeQ2_KNEON),
		quant.Q3_K:        blocksOfNEON(quant.SuperBlock, dotQ3_KNEON, decodeQ3_KNEON),
		quant.Q4_K:        blocksOfNEON(quant.SuperBlock, dotQ4_KNEON, decodeQ4_KNEON),
		quant.Q5_K:        blocksOfNEON(quant.SuperBlock, dotQ5_KNEON, decodeQ5_KNEON),
		quant.Q6_K:        blocksOfNEON(quant.SuperBlock, dotQ6_KNEON, decodeQ6_KNEON),
		quant.IQ4_XS:      blocksOfNEON(quant.SuperBlock, dotIQ4_XSNEON, decodeIQ4_XSNEON),
		quant.IQ2_XXS:     blocksOfNEON(quant.SuperBlock, dotIQ2_XXSNEON, decodeIQ2_XXSNEON),
		quant.IQ2_XS:      blocksOfNEON(quant.SuperBlock, dotIQ2_XSNEON, decodeIQ2_XSNEON),
		quant.IQ2_S:       blocksOfNEON(quant.SuperBlock, dotIQ2_SNEON, decodeIQ2_SNEON),
		quant.IQ3_XXS:     blocksOfNEON(quant.SuperBlock, dotIQ3_XXSNEON, decodeIQ3_XXSNEON),
		quant.IQ3_S:       blocksOfNEON(quant.SuperBlock, dotIQ3_SNEON, decodeIQ3_SNEON),
		quant.IQ1_S:       blocksOfNEON(quant.SuperBlock, dotIQ1_SNEON, decodeIQ1_SNEON),
		quant.IQ1_M:       blocksOfNEON(quant.SuperBlock, dotIQ1_MNEON, decodeIQ1_MNEON),
		quant.TQ1_0:       blocksOfNEON(quant.SuperBlock, dotTQ1_0NEON, decodeTQ1_0NEON),
		quant.TQ2_0:       blocksOfNEON(quant.SuperBlock, dotTQ2_0NEON, decodeTQ2_0NEON),
	},
	int8: int8Of(cpu.ARM64.HasASIMDDP, cpu.ARM64.HasI8MM),
	vectors: &vectorLoops{
		dot:    dotVectorsNEON,
		axpy:   axpyNEON,
		fade:   fadeNEON,
		scale:  scaleNEON,
		widen:  widenNEON,
		round:  roundNEON,
		scaled: scaledNEON,
		exp:    expNEON,
	},
	products: []productLoop{
		{4, 16, product4x16NEON},
		{1, 16, product1x16NEON},
	},
}

// int8Of returns the loops for int8 inputs of a machine with or without SDOT (on Linux ASIMDDP) and SMMLA.
// Without SDOT there are none. Without SMMLA, one row and one input are multiplied at a time.
func int8Of(sdot, smmla bool) map[quant.Type]kernel {
	if !sdot {
		return nil
	}
	kernels := maps.Clone(int8KernelsNEON)
	for t, k := range kernels {
		if !smmla {
			k.tiles = [2]tile{}
			kernels[t] = k
		}
	}
	return kernels
}

// bytesOfNEON is the kernel of a format for int8 inputs.
func bytesOfNEON(elems int, inputs *arrangement, one rowFunc, four tileFunc) kernel {
	return kernel{step: elems, one: one, tiles: [2]tile{{2, 2, four}}, arranged: inputs}
}

var int8KernelsNEON = map[quant.Type]kernel{
	quant.Q4_0:        bytesOfNEON(32, blocksNEON, dotQ4_0Int8NEON, dotQ4_0Int8_2x2NEON),
	quant.Q4_1:        bytesOfNEON(32, blocksNEON, dotQ4_1Int8NEON, dotQ4_1Int8_2x2NEON),
	quant.Q5_0:        bytesOfNEON(32, blocksNEON, dotQ5_0Int8NEON, dotQ5_0Int8_2x2NEON),
	quant.Q5_1:        bytesOfNEON(32, blocksNEON, dotQ5_1Int8NEON, dotQ5_1Int8_2x2NEON),
	quant.Q8_0:        bytesOfNEON(32, blocksNEON, dotQ8_0Int8NEON, dotQ8_0Int8_2x2NEON),
	quant.IQ4_NL:      bytesOfNEON(32, blocksNEON, dotIQ4_NLInt8NEON, dotIQ4_NLInt8_2x2NEON),
	quant.MXFP4:       bytesOfNEON(32, blocksNEON, dotMXFP4Int8NEON, dotMXFP4Int8_2x2NEON),
	quant.Q4_K:        bytesOfNEON(quant.SuperBlock, superNEON, dotQ4_KInt8NEON, dotQ4_KInt8_2x2NEON),
	quant.Q5_K:        bytesOfNEON(quant.SuperBlock, superNEON, dotQ5_KInt8NEON, dotQ5_KInt8_2x2NEON),
	quant.Q6_K:        bytesOfNEON(quant.SuperBlock, superNEON, dotQ6_KInt8NEON, dotQ6_KInt8_2x2NEON),
	quant.IQ4_XS:      bytesOfNEON(quant.SuperBlock, superNEON, dotIQ4_XSInt8NEON, dotIQ4_XSInt8_2x2NEON),
	quant.Q2_K:        bytesOfNEON(quant.SuperBlock, superNEON, dotQ2_KInt8NEON, dotQ2_KInt8_2x2NEON),
	quant.Q3_K:        bytesOfNEON(quant.SuperBlock, superNEON, dotQ3_KInt8NEON, dotQ3_KInt8_2x2NEON),
	quant.TQ2_0:       bytesOfNEON(quant.SuperBlock, superNEON, dotTQ2_0Int8NEON, dotTQ2_0Int8_2x2NEON),
	quant.TQ1_0:       bytesOfNEON(quant.SuperBlock, superNEON, dotTQ1_0Int8NEON, dotTQ1_0Int8_2x2NEON),
	quant.IQ2_XXS:     bytesOfNEON(quant.SuperBlock, superNEON, dotIQ2_XXSInt8NEON, dotIQ2_XXSInt8_2x2NEON),
	quant.IQ2_XS:      bytesOfNEON(quant.SuperBlock, superNEON, dotIQ2_XSInt8NEON, dotIQ2_XSInt8_2x2NEON),
	quant.IQ2_S:       bytesOfNEON(quant.SuperBlock, superNEON, dotIQ2_SInt8NEON, dotIQ2_SInt8_2x2NEON),
	quant.IQ3_XXS:     bytesOfNEON(quant.SuperBlock, superNEON, dotIQ3_XXSInt8NEON, dotIQ3_XXSInt8_2x2NEON),
	quant.IQ3_S:       bytesOfNEON(quant.SuperBlock, superNEON, dotIQ3_SInt8NEON, dotIQ3_SInt8_2x2NEON),
	quant.IQ1_S:       bytesOfNEON(quant.SuperBlock, superNEON, dotIQ1_SInt8NEON, dotIQ1_SInt8_2x2NEON),
	quant.IQ1_M:       bytesOfNEON(quant.SuperBlock, superNEON, dotIQ1_MInt8NEON, dotIQ1_MInt8_2x2NEON),
	quant.Q1_0:        bytesOfNEON(128, blocksNEON, dotQ1_0Int8NEON, dotQ1_0Int8_2x2NEON),
	quant.Q2_0:        bytesOfNEON(64, blocksNEON, dotQ2_0Int8NEON, dotQ2_0Int8_2x2NEON),
	quant.NVFP4:       bytesOfNEON(64, blocksNEON, dotNVFP4Int8NEON, dotNVFP4Int8_2x2NEON),
	quant.NVFP4Scaled: bytesOfNEON(64, blocksNEON, dotNVFP4_SCALEDInt8NEON, dotNVFP4_SCALEDInt8_2x2NEON),
}
