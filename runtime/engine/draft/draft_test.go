package draft_test

import (
	"slices"
	"testing"

	"mla/runtime/engine/draft"
)

func TestPropose(t *testing.T) {
	for _, tt := range []struct {
		name string
		g    draft.Ngram
		text []int32
		n    int
		want []int32
	}{
		{"nothing", draft.Default, nil, 4, nil},
		{"one token", draft.Default, []int32{1}, 4, nil},
		{"no match", draft.Default, []int32{1, 2, 3, 4, 5}, 4, nil},
		{"too short a match", draft.Default, []int32{1, 2, 3, 1}, 4, nil},
		{"two tokens", draft.Default, []int32{1, 2, 3, 4, 1, 2}, 4, []int32{3, 4, 1, 2}},
		{"as many as wanted", draft.Default, []int32{1, 2, 3, 4, 1, 2}, 1, []int32{3}},
		{"none wanted", draft.Default, []int32{1, 2, 3, 4, 1, 2}, 0, nil},
		{"the last of several", draft.Default, []int32{1, 2, 7, 1, 2, 8, 1, 2}, 2, []int32{8, 1}},
		{"the longest", draft.Default, []int32{9, 1, 2, 7, 5, 1, 2, 8, 9, 1, 2}, 1, []int32{7}},
		{"overlapping", draft.Default, []int32{1, 1, 1, 1}, 4, []int32{1, 1, 1, 1}},
		{"round and round", draft.Default, []int32{7, 1, 2, 3, 1, 2, 3}, 5, []int32{1, 2, 3, 1, 2}},
		{"single tokens", draft.Ngram{Longest: 1, Shortest: 1}, []int32{5, 6, 5}, 3, []int32{6, 5, 6}},
	} {
		before := slices.Clone(tt.text)
		if got := tt.g.Propose(tt.text, tt.n); !slices.Equal(got, tt.want) || !slices.Equal(tt.text, before) {
			t.Errorf("%s: %d; expected %d", tt.name, got, tt.want)
		}
	}
}

// FuzzPropose checks that every proposal follows the same tokens somewhere in the text, or in the text with
// the proposal appended.
func FuzzPropose(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 2}, 3)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		text := make([]int32, len(data))
		for i, b := range data {
			text[i] = int32(b % 4)
		}
		n %= 40 // all of them are made
		got := draft.Default.Propose(text, n)
		if len(got) == 0 {
			return
		}
		if len(got) != n {
			t.Fatalf("%d tokens; %d are wanted", len(got), n)
		}
		want := slices.Concat(text[len(text)-draft.Default.Shortest:], got)
		whole := slices.Concat(text, got)
		for at := range len(text) - draft.Default.Shortest {
			if slices.Equal(whole[at:at+len(want)], want) {
				return
			}
		}
		t.Fatalf("%d does not follow the end of %d anywhere", got, text)
	})
}
