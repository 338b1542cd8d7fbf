// Package trust keeps verdicts about properties of a GPU and its system that only an experiment can tell. A
// mistake in recording an indirect command buffer (ICB) crashes the process, and the mistake may be the
// system's (rule 18); so ICBs are first tried in another process. The time limit of a command buffer is
// documented nowhere, and a command buffer that exceeds it also makes later ones fail (rule 27). A verdict is
// kept in a file. It is valid as long as nothing changes that it may depend on.
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

// Key is everything that a verdict may depend on.
type Key struct {
	GPU     string `json:"gpu"`
	System  string `json:"system"`  // version and build
	Program string `json:"program"` // version, and identity of the file
	Library string `json:"library"` // the library in place of Metal, with the identity of its file; "": Apple's
	// Settings has the environment variables that Metal, or its replacement, may read.
	Settings string `json:"settings"`
	// Model identifies a model, for a verdict about one: its bundle with the file's types, how it is loaded,
	// and a hash of its kernels.
	Model   string `json:"model,omitempty"`
	Kernels string `json:"kernels,omitempty"`
}

// Kind is the subject of a verdict.
type Kind string

// The kinds of verdicts.
const (
	ICB    Kind = "icb"    // whether ICBs can be used
	Budget Kind = "budget" // how long a command buffer may take
	Model  Kind = "model"  // whether the GPU runs a model as the CPU does, and faster
)

// Verdict is the result of an experiment, and the consequence if it was negative.
type Verdict struct {
	OK           bool   `json:"ok"`
	Why          string `json:"why,omitempty"`          // one line: why the result was negative
	Milliseconds int    `json:"milliseconds,omitempty"` // of Budget
	// For Model: launches of kernels that were compared, and tokens per second on both devices.
	Kernels int     `json:"kernels,omitempty"`
	GPU     float64 `json:"gpu,omitempty"`
	CPU     float64 `json:"cpu,omitempty"`
}

// entry is the contents of a file.
type entry struct {
	Key     Key     `json:"key"`
	Verdict Verdict `json:"verdict"`
}

// most is the largest size of a file in bytes.
const most = 16 << 10

// longestWhy is the most bytes of a reason that are kept.
const longestWhy = 400

// Path is the file in a folder for the verdict of a key. A newer verdict of the same kind, on the same GPU
// and about the same model replaces an older one, so that files do not pile up.
func Path(folder string, kind Kind, k Key) string {
	of := k.GPU + "\x00" + k.Library
	if k.Model != "" {
		of += "\x00" + k.Model
	}
	hash := sha256.Sum256([]byte(of))
	return filepath.Join(folder, string(kind)+"-"+hex.EncodeToString(hash[:6])+".json")
}

// Kept returns the verdict of a kind for a key from a folder. A file that is broken, or has another key, is
// no verdict.
func Kept(folder string, kind Kind, k Key) (v Verdict, ok bool) {
	path := Path(folder, kind, k)
	// Opening a pipe would block, and some files have no end.
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
	e.Verdict.Why = line(e.Verdict.Why) // it is printed, and anybody could have written the file
	return e.Verdict, true
}

// Keep writes a verdict to a folder, and replaces an older one.
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

// line makes one line of a text, without control characters and with a limited length.
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
