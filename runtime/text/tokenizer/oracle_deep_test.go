//go:build deep

package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPreTokenizersAgreeOnRandomText(t *testing.T) {
	o, sc := newOracle(t), new(scanner)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		o.compare(t, sc, randomText(r, 1+r.IntN(24)))
		if t.Failed() {
			return
		}
	}
}

// alphabet has characters of every class and of the borders between them.
var alphabet = []rune("  \t\n\r\v\u00a0\u0085\u3000\u2028''sSdDmMtTrReElLvVaAzZ019½Ⅷ٣.,!?/-_$€“”‘，。、：！…ʰªǅß中字一龥가힣ㄱㄅぁァー\u0301\u0300\u093F\u20DDéЖжΩωႠࠀ𐐀𐐨𝐀𠀀🦙\u200d\ufeff\ufffd\u0000~～\uD7FF")

func randomText(r *rand.Rand, n int) string {
	var s strings.Builder
	for range n {
		switch r.IntN(20) {
		case 0: // any character
			c := rune(r.IntN(unicode.MaxRune + 1))
			if utf8.ValidRune(c) {
				s.WriteRune(c)
			}
		case 1: // a run
			c := alphabet[r.IntN(len(alphabet))]
			s.WriteString(strings.Repeat(string(c), 1+r.IntN(5)))
		default:
			s.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
	}
	return s.String()
}
