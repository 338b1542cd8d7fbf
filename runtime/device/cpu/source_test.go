package cpu

import (
	"slices"
	"testing"
)

// TestSourceKeepsEntries checks when a worker prepares its input again: for
// another entry or another token.
func TestSourceKeepsEntries(t *testing.T) {
	memory := []float32{3, 4, 30, 40}
	s := &source{id: 1, cols: 2, vec: vec{numbers{f32: memory}, 2}, norm: &norm{weight: []float32{1, 2}}}
	w := newWorker(needs{rows: 1, input: 2})
	w.token = 1
	want := slices.Clone(s.load(w, 0).x)
	if want[0] <= 0 || want[1] != want[0]*8/3 {
		t.Fatalf("norm %v", want)
	}
	memory[0] = 0
	if got := s.load(w, 0).x; !slices.Equal(got, want) {
		t.Errorf("prepared again within a token: %v", got)
	}
	for what, disturb := range map[string]func(){
		"entry": func() { s.load(w, 1) },
		"token": func() { w.token++ },
	} {
		memory[0] = 0
		w.token++
		s.load(w, 0)
		memory[0] = 3
		disturb()
		if got := s.load(w, 0).x; !slices.Equal(got, want) {
			t.Errorf("after another %s: %v, want %v", what, got, want)
		}
	}
}
