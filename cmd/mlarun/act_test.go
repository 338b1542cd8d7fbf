package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// TestAct: -act and -bundle choose between the bundles of a model, and what runs is
// named.
func TestAct(t *testing.T) {
	const full, half = "bundle youtumini (f32 activations) on cpu", "bundle youtuminif16 (f16 activations) on cpu"
	out := filepath.Join(t.TempDir(), "out.npy")
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"greedy -n 2 -tokens 3,40 -model " + youtu, 0, full},
		{"greedy -n 2 -tokens 3,40 -act f32 -model " + youtu, 0, full},
		{"greedy -n 2 -tokens 3,40 -act f16 -model " + youtu, 0, half},
		{"greedy -n 2 -tokens 3,40 -bundle youtuminif16 -model " + youtu, 0, half},
		{"-p hello -n 2 -act f16 -model " + youtu, 0, half},
		{"logits -tokens 3 -act f16 -o " + out + " -model " + youtu, 0, half},
		{"bench -p 2 -n 2 -r 1 -act f16 -model " + youtu, 0, "bundle youtuminif16 (f16 activations), cpu device"},
		{"bench -p 2 -n 0 -r 1 -act f16 -o json -quiet -model " + youtu, 0, `"act": "f16"`},
		{"bench -p 2 -n 0 -r 1 -o csv -quiet -model " + youtu, 0, "\npp2,f32,0,"},
		{"doctor -device cpu -n 0 -act f16 -model " + youtu, 0, "kernels of youtuminif16 (f16 activations, spec"},
		{"inspect " + youtu, 0, "mlarun uses youtumini.\nOn a GPU, or with -act f16, it uses youtuminif16.\n"},
		{"inspect -bundle youtuminif16 " + youtu, 0, "mlarun uses youtuminif16 with -bundle youtuminif16.\n"},
		{"greedy -tokens 3 -bundle youtumini -act f16 -model " + youtu, 1, "bundle youtumini has f32 activations, but f16 were asked for"},
		{"greedy -tokens 3 -act f16 -model " + glm, 1, "glm47tiny does with f32 (-act f32)\n"},
		{"greedy -tokens 3 -act f16 -model " + glm, 1, "to make one: mlagen -gguf " + glm + " -act f32,f16"},
		{"doctor -device cpu -act f16 -model " + glm, 1, "with f16 activations"},
	} {
		r := mlarun("", strings.Fields(tt.args)...)
		if text := r.out + r.err; r.code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("mlarun %s: code %d, want %d and %q:\n%s", tt.args, r.code, tt.code, tt.want, text)
		}
	}
}

// TestActDoctor: without a model, -act leaves out the bundles with other activations.
func TestActDoctor(t *testing.T) {
	for act, want := range map[string]string{"f32": "youtumini", "f16": "youtuminif16"} {
		checksOnly(t, want, act, onAll())
	}
}

// TestActOverflow: a norm's weights that take activations out of half's range.
func TestActOverflow(t *testing.T) {
	f, err := gguf.Open(youtu)
	if err != nil {
		t.Fatal(err)
	}
	norm, ok := f.Tensor("blk.1.ffn_norm.weight")
	if !ok {
		t.Fatal("no norm")
	}
	file := bytes.Clone(f.Shards[norm.Shard].Data)
	for i := range norm.Elems() {
		binary.LittleEndian.PutUint32(file[norm.Offset+4*i:], math.Float32bits(1e9))
	}
	path := filepath.Join(t.TempDir(), "large.gguf")
	if err := errors.Join(f.Close(), os.WriteFile(path, file, 0o600)); err != nil {
		t.Fatal(err)
	}
	full := mlarun("", "-model", path, "-p", "hello", "-n", "4", "-act", "f32", "-temp", "0")
	if full.code != 0 || full.out == "" {
		t.Errorf("f32: code %d, %q\n%s", full.code, full.out, full.err)
	}
	// With both bundles the text goes on with floats, and says so once.
	for _, args := range []string{"-act f16", "-act f16 -draft ngram"} {
		r := mlarun("", append(strings.Fields("-p hello -n 4 -temp 0 "+args), "-model", path)...)
		if r.code != 0 || r.out != full.out || strings.Count(r.err, "the model goes on with f32") != 1 {
			t.Errorf("%s: code %d, %q; want %q\n%s", args, r.code, r.out, full.out, r.err)
		}
	}
	// With none but halves the error names the flag.
	const want = "all logits are -Inf or NaN; activations may have left the range of halves; try -act f32"
	halves := slices.DeleteFunc(slices.Clone(generated.Bundles()), func(b *plan.Bundle) bool { return b.Activations != plan.ElemF16 })
	if r := with(halves, "", "-model", path, "-p", "hello", "-n", "2", "-act", "f16"); r.code != 1 || !strings.Contains(r.err, want) {
		t.Errorf("f16: code %d, %q\n%s", r.code, r.out, r.err)
	}
}
