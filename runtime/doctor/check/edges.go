package check

import "math/bits"

// A draw meets an edge where its random number is just what the tokens before some token
// weigh. There the sampler's comparisons decide between two tokens, or two blocks of tokens.

// seedOf is the seed whose draw of a number is random. runtime/text/sample hashes both by
// SplitMix64, which has an inverse.
func seedOf(random, draw uint64) uint64 {
	const golden = 0x9E3779B97F4A7C15
	return unmix(unmix(random)-(draw+1)*golden) - golden
}

// unmix is the inverse of SplitMix64's output function. The factors are the inverses of
// its own modulo 2^64.
func unmix(z uint64) uint64 {
	z = (z ^ z>>31 ^ z>>62) * 0x319642B2D24D8EC3
	z = (z ^ z>>27 ^ z>>54) * 0x96DE1B173F119089
	return z ^ z>>30 ^ z>>60
}

// edgeOf is a token of a vocabulary where blocks meet, if it has several: the greatest
// power of two below its size. Where all tokens weigh the same, the other result is the
// least random number that meets the token: it is just what the tokens before weigh.
func edgeOf(vocab int) (token int, random uint64) {
	token = 1 << bits.Len(uint(vocab-1)) >> 1
	random, remainder := bits.Div64(uint64(token), 0, uint64(vocab))
	if remainder > 0 {
		random++
	}
	return token, random
}
