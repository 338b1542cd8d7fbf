package tokenizer

import (
	"fmt"
	"slices"
)

// retyped returns v with corrected token types. Some files have no types, or mark every token as normal. As
// in llama.cpp:
//   - a token of SentencePiece that is written as a byte, <0x0A>, is that byte;
//   - a token whose name ends a generation, such as <|endoftext|>, is a control token.
//
// </s> is not changed if the file has types: it occurs in HTML, too, and such vocabularies mark it as normal
// on purpose. The lists of v must have equal lengths.
func retyped(v Vocab, ends []string) Vocab {
	types := make([]int32, len(v.Tokens))
	copy(types, v.Types)
	for id, token := range v.Tokens {
		switch types[id] {
		case TypeUndefined:
			types[id] = TypeNormal
		case TypeNormal, TypeUnused:
		default:
			continue
		}
		if b, is := byteToken(token); is && v.Model == modelSPM && types[id] == TypeNormal && token == fmt.Sprintf("<0x%02X>", b) {
			types[id] = TypeByte
		}
		if slices.Contains(ends, token) && (token != "</s>" || v.Types == nil) {
			types[id] = TypeControl
		}
	}
	v.Types = types
	return v
}
