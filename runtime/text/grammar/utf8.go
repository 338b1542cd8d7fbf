package grammar

import "unicode/utf8"

// span is bytes from lo to hi, both included.
type span struct{ lo, hi byte }

// utf8Spans calls f with sequences of spans that together match the UTF-8 encodings of the characters from lo
// to hi, without surrogates.
func utf8Spans(lo, hi rune, f func([]span)) {
	const surrogates, after = 0xD800, 0xE000
	lo, hi = max(lo, 0), min(hi, utf8.MaxRune)
	if lo < surrogates && hi >= surrogates {
		utf8Spans(lo, surrogates-1, f)
		lo = after
	} else if lo >= surrogates {
		lo = max(lo, after)
	}
	if lo > hi {
		return
	}
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} { // encodings of one length
		if lo <= last && hi > last {
			utf8Spans(lo, last, f)
			utf8Spans(last+1, hi, f)
			return
		}
	}
	for bits := 6; bits <= 18 && hi > 0x7F; bits += 6 { // whole blocks of final bytes
		mask := rune(1)<<bits - 1
		if lo&^mask == hi&^mask {
			break
		}
		if lo&mask != 0 {
			utf8Spans(lo, lo|mask, f)
			utf8Spans((lo|mask)+1, hi, f)
			return
		}
		if hi&mask != mask {
			utf8Spans(lo, hi&^mask-1, f)
			utf8Spans(hi&^mask, hi, f)
			return
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	spans := make([]span, n)
	for i := range spans {
		spans[i] = span{a[i], b[i]}
	}
	f(spans)
}
