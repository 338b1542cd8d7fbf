package quant

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVectors decodes blocks whose floats, made by ggml, lie beside them: half of them hold
// numbers, half are random bytes. The floats are equal bit for bit.
func TestVectors(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.blocks")
	if err != nil || len(paths) != 14 {
		t.Fatalf("%d files of blocks, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".blocks")
		f, ok := ByName(name)
		if !ok {
			t.Errorf("no format %s", name)
			continue
		}
		blocks, want := readFile(t, path), readFile(t, strings.TrimSuffix(path, ".blocks")+".f32")
		got := make([]float32, len(blocks)/f.BlockBytes*f.BlockElems)
		if 4*len(got) != len(want) {
			t.Fatalf("%s: %d floats for %d bytes", name, len(got), len(want))
		}
		f.Dequantize(got, blocks)
		for i, v := range got {
			if w := binary.LittleEndian.Uint32(want[4*i:]); math.Float32bits(v) != w {
				t.Errorf("%s: element %d of block %d is %v, want %v", name, i%f.BlockElems, i/f.BlockElems, v, math.Float32frombits(w))
				break
			}
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCodeBooks compares all entries, a line of numbers each, with the hashes of ggml's. The words
// of kernels hold the same.
func TestCodeBooks(t *testing.T) {
	want := map[Type]string{
		IQ2_XXS: "7ce6a99a234aeec8", IQ2_XS: "c01ee43328ee4a74", IQ2_S: "710bfe7a778b923d", IQ3_XXS: "4b3aabbad58d4f78", IQ3_S: "5afefa4e6558b76d",
		IQ1_S: "7fcf23ea0bac827b", IQ1_M: "7fcf23ea0bac827b",
	}
	for _, f := range Formats() {
		if f.Book == nil {
			if want[f.Type] != "" {
				t.Errorf("%s has no code book", f.Name)
			}
			continue
		}
		h := sha256.New()
		words := f.Book.Words()
		for i, v := range f.Book.Values() {
			values := make([]string, f.Book.Group)
			for j := range values {
				values[j] = fmt.Sprint(int8(v >> (8 * j)))
				q := words[i] >> (8 * j) & 255
				if f.Book.Group == 8 {
					q = words[i] >> (j%4/2*8 + j/4*4 + j%2*2) & 3
					q = uint32(uint8(f.Book.levels[q]))
				}
				if byte(q) != byte(v>>(8*j)) {
					t.Fatalf("%s: word %d is %#x, values are %#x", f.Name, i, words[i], v)
				}
			}
			io.WriteString(h, strings.Join(values, " ")+"\n")
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != want[f.Type] {
			t.Errorf("%s: the hash of the code book is %s, want %s", f.Name, got, want[f.Type])
		}
	}
}
