package tokenizer

import (
	"fmt"
	"slices"
)

// retyped returns v with the token types that its tokens' names call for. Some files have no
// types, or call every token normal. As in llama.cpp:
//   - a token of SentencePiece that is written as a byte, <0x0A>, is that byte;
//   - a token whose name ends a generation, such as <|endoftext|>, is a control token.
//
// </s> is left alone where the file has types: it is HTML as well, and such vocabularies
// call it normal on purpose. The lists of v must have one length.
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
