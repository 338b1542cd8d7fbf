package check

import "math/bits"

// A draw is at an edge where its random number equals the cumulative weight of the tokens before some token.
// There, the sampler's comparisons decide between two tokens, or between two blocks of tokens.

// seedOf returns the seed whose draw of a given number is random. runtime/text/sample hashes seed and number
// by SplitMix64, which is invertible.
func seedOf(random, draw uint64) uint64 {
	const golden = 0x9E3779B97F4A7C15
	return unmix(unmix(random)-(draw+1)*golden) - golden
}

// unmix is the inverse of SplitMix64's output function. Its factors are the inverses of SplitMix64's factors
// modulo 2^64.
func unmix(z uint64) uint64 {
	z = (z ^ z>>31 ^ z>>62) * 0x319642B2D24D8EC3
	z = (z ^ z>>27 ^ z>>54) * 0x96DE1B173F119089
	return z ^ z>>30 ^ z>>60
}

// edgeOf returns a token of a vocabulary at which a block begins, if the vocabulary has several blocks: the
// greatest power of two below its size. random is the least random number that draws the token if all tokens
// have the same weight: it equals the cumulative weight of the tokens before.
func edgeOf(vocab int) (token int, random uint64) {
	token = 1 << bits.Len(uint(vocab-1)) >> 1
	random, remainder := bits.Div64(uint64(token), 0, uint64(vocab))
	if remainder > 0 {
		random++
	}
	return token, random
}
