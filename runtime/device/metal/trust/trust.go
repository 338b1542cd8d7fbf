// Package trust keeps verdicts about what a GPU and its system do, which only trying tells.
// A mistake in recording an indirect command buffer (ICB) is a crash of the process, not an
// error, and it may be the system's mistake (rule 18): so ICBs are tried in another process
// first. How long a command buffer may take is documented nowhere, and too long a one ends
// what comes after it, too (rule 27). What came of it is kept in a file and holds until
// something that it may depend on changes.
package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Key is all that a verdict may depend on.
type Key struct {
	GPU     string `json:"gpu"`
	System  string `json:"system"`  // version and build
	Program string `json:"program"` // version, and which file it is
	Library string `json:"library"` // that stands in for Metal, and which file it is; "": Apple's
	// Settings are the variables of the environment that Metal, or what stands in for
	// it, may read.
	Settings string `json:"settings"`
	// Of a verdict about a model: its bundle with the types of its file and how it is loaded,
	// and a hash of its kernels.
	Model   string `json:"model,omitempty"`
	Kernels string `json:"kernels,omitempty"`
}

// Kind is what a verdict is about.
type Kind string

// The kinds.
const (
	ICB    Kind = "icb"    // whether ICBs can be used
	Budget Kind = "budget" // how long a command buffer may take
	Model  Kind = "model"  // whether the GPU runs a model as the CPU does, and faster
)

// Verdict says whether all is well, and if not, what is done about it.
type Verdict struct {
	OK           bool   `json:"ok"`
	Why          string `json:"why,omitempty"`          // not; in a line
	Milliseconds int    `json:"milliseconds,omitempty"` // of Budget
	// Of Model: launches of kernels that were compared, and tokens a second on both.
	Kernels int     `json:"kernels,omitempty"`
	GPU     float64 `json:"gpu,omitempty"`
	CPU     float64 `json:"cpu,omitempty"`
}

// entry is what a file holds.
type entry struct {
	Key     Key     `json:"key"`
	Verdict Verdict `json:"verdict"`
}

// most is how many bytes an entry may have.
const most = 16 << 10

// longestWhy is how many bytes of a reason are kept.
const longestWhy = 400

// Path is the file in a folder that a verdict for a key is kept in. Those of a kind on
// one GPU, about one model, share it: an older one is of no use any more, and files do not pile up.
func Path(folder string, kind Kind, k Key) string {
	of := k.GPU + "\x00" + k.Library
	if k.Model != "" {
		of += "\x00" + k.Model
	}
	hash := sha256.Sum256([]byte(of))
	return filepath.Join(folder, string(kind)+"-"+hex.EncodeToString(hash[:6])+".json")
}

// Kept returns the verdict of a kind for a key that is kept in a folder. Whatever else lies
// there, broken or another's, is no verdict.
func Kept(folder string, kind Kind, k Key) (v Verdict, ok bool) {
	path := Path(folder, kind, k)
	// Not a pipe, whose opening would wait, nor anything without an end.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return v, false
	}
	file, err := os.Open(path)
	if err != nil {
		return v, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return v, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var e entry
	if d.Decode(&e) != nil || e.Key != k || e.Verdict.OK != (e.Verdict.Why == "") {
		return v, false
	}
	e.Verdict.Why = line(e.Verdict.Why) // it is printed, and the file could be anybody's
	return e.Verdict, true
}

// Keep writes a verdict into a folder, in place of what is there.
func Keep(folder string, kind Kind, k Key, v Verdict) error {
	v.Why = line(v.Why)
	data, err := json.MarshalIndent(entry{k, v}, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if len(data) > most {
		return fmt.Errorf("a verdict of %d bytes; at most %d are kept", len(data), most)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(folder, string(kind)+"-*.new")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), Path(folder, kind, k))
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// line makes one line without control characters of a text, not too long.
func line(text string) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)), " ")
	if len(text) > longestWhy {
		text = strings.ToValidUTF8(text[:longestWhy], "") + " …"
	}
	return text
}
