package cuda_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mla/runtime/npy"
)

const references = "../../../testdata/reference"

// reference is what a file must compute.
type reference struct {
	prompt []int32
	logits []float32 // [len(prompt)][vocab]
	vocab  int
}

func readReference(name string) (*reference, error) {
	stem := filepath.Join(references, name)
	file, err := os.Open(stem + ".logits.npy")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ref := &reference{}
	var rows int
	if ref.logits, rows, ref.vocab, err = npy.Read(file); err != nil {
		return nil, err
	}
	if ref.prompt, err = prompt(stem + ".tokens"); err != nil {
		return nil, err
	}
	if rows != len(ref.prompt) || rows == 0 {
		return nil, fmt.Errorf("%s: %d rows of logits for %d tokens", name, rows, len(ref.prompt))
	}
	return ref, nil
}

// prompt reads the line of a token file that begins with "prompt".
func prompt(path string) ([]int32, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var ids []int32
	for line := range strings.Lines(string(text)) {
		list, ok := strings.CutPrefix(line, "prompt ")
		if !ok {
			continue
		}
		for _, word := range strings.Fields(list) {
			id, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: token %q: %w", path, word, err)
			}
			ids = append(ids, int32(id))
		}
	}
	return ids, nil
}

// worst is the largest difference from the reference logits at a position; NaN
// if there is one.
func (r *reference) worst(logits []float32, pos int) float64 {
	worst := 0.0
	for i, want := range r.logits[pos*r.vocab : (pos+1)*r.vocab] {
		worst = max(worst, math.Abs(float64(logits[i])-float64(want)))
	}
	return worst
}
