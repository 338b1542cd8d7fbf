// Package reference is for tests of devices: it reads the files of testdata/reference with the logits that
// they must give, and has the replays that every runner must pass.
package reference

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/system/npy"
)

// Folder is the folder of the files, relative to the package of a device.
const Folder = "../../../testdata/reference"

// Reference is the prompt of a file and the logits that the file must give.
type Reference struct {
	Prompt []int32
	Logits []float32 // [len(Prompt)][Vocab]
	Vocab  int
}

// stem returns the path of a file without its extension; "../tinyglm" is the shipped model.
func stem(name string) string { return filepath.Join(Folder, name) }

// Read reads the reference of a file of Folder, whose name is given without its extension.
func Read(name string) (*Reference, error) { return ReadPath(stem(name)) }

// ReadPath is Read for a path without the file's extension.
func ReadPath(stem string) (*Reference, error) {
	ref := &Reference{}
	var rows int
	var err error
	if ref.Logits, rows, ref.Vocab, err = Logits(stem + ".logits.npy"); err != nil {
		return nil, err
	}
	if ref.Prompt, err = Tokens(stem + ".tokens"); err != nil {
		return nil, err
	}
	if rows != len(ref.Prompt) || rows == 0 {
		return nil, fmt.Errorf("%s: %d rows of logits for %d tokens", stem, rows, len(ref.Prompt))
	}
	return ref, nil
}

// Logits reads a file of logits, [rows][vocab].
func Logits(path string) (logits []float32, rows, vocab int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer file.Close()
	return npy.Read(file)
}

// Tokens reads the line of a token file that begins with "prompt".
func Tokens(path string) ([]int32, error) { return Line(path, "prompt") }

// Line reads the tokens of the line of a token file that begins with a word.
func Line(path, word string) ([]int32, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var ids []int32
	for line := range strings.Lines(string(text)) {
		list, ok := strings.CutPrefix(line, word+" ")
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

// Worst returns the greatest difference from the reference logits at a position; NaN if there is a NaN.
func (r *Reference) Worst(logits []float32, pos int) float64 {
	worst := 0.0
	for i, want := range r.Logits[pos*r.Vocab : (pos+1)*r.Vocab] {
		worst = max(worst, math.Abs(float64(logits[i])-float64(want)))
	}
	return worst
}

// Step returns the row of a token at a position.
func Step(token int32, pos int) plan.Row {
	return plan.Row{Token: uint32(token), Pos: uint32(pos), NKV: uint32(pos + 1)}
}

// Rows returns Step as the rows of a replay.
func Rows(token int32, pos int) []plan.Row { return []plan.Row{Step(token, pos)} }

// InFlight runs the prompt again without waiting for each token.
func (ref *Reference) InFlight(r device.Runner, tolerance float64) error {
	last := len(ref.Prompt) - 1
	for pos, token := range ref.Prompt[:last] {
		if got, err := r.Replay(Rows(token, pos), nil); err != nil || got != nil {
			return fmt.Errorf("without logits: %d, %w", len(got), err)
		}
	}
	got, err := r.Replay(Rows(ref.Prompt[last], last), device.All(1))
	if err != nil {
		return err
	}
	if worst := ref.Worst(got, last); !(worst <= tolerance) {
		return fmt.Errorf("after a prompt in flight: logits differ by %g; at most %g is allowed", worst, tolerance)
	}
	if total := r.Diagnostics().GPUTime; total == nil || total() <= 0 {
		return errors.New("no GPU time")
	}
	return nil
}
