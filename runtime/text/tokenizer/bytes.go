package tokenizer

import "unicode/utf8"

// Byte-level BPE writes every byte as a printable character, so that a vocabulary is a list of ordinary
// strings. The printable bytes of Latin-1 stand for themselves; the 68 others (controls, space, 0x7F to 0xA0,
// 0xAD) are mapped to U+0100 and up, in order. This is the alphabet of the GPT-2 tokeniser.

// alphabetSize is one past the highest character of the alphabet.
const alphabetSize = 0x100 + 68

// byteOfChar maps a character of the alphabet to its byte, and others to -1.
var byteOfChar = func() (table [alphabetSize]int16) {
	for i := range table {
		table[i] = -1
	}
	next := 0x100
	for b := range 256 {
		char := b
		if !printable(b) {
			char = next
			next++
		}
		table[char] = int16(b)
	}
	return table
}()

// printable reports whether the alphabet keeps byte b as it is.
func printable(b int) bool {
	return '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b
}

// rawBytes converts a vocabulary entry to its bytes. ok is false if the entry has a character outside the
// alphabet.
func rawBytes(entry string) (raw string, ok bool) {
	out := make([]byte, 0, len(entry))
	for _, r := range entry {
		if r >= alphabetSize || byteOfChar[r] < 0 {
			return "", false
		}
		out = append(out, byte(byteOfChar[r]))
	}
	return string(out), utf8.ValidString(entry)
}
