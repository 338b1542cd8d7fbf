package engine_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

const folder = "../../testdata/reference/"

// keys returns FileKey and ModelKey of a file.
func keys(t *testing.T, path string) (file, model string) {
	t.Helper()
	e, err := opening.On(path, generated.Bundles(), "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	file, err1 := e.FileKey()
	model, err2 := e.ModelKey()
	if err := errors.Join(err1, err2, e.Close()); err != nil || len(file) != 64 || len(model) != 64 {
		t.Fatal(file, model, err)
	}
	return file, model
}

// token returns a text as GGUF stores it.
func token(text string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
}

// TestKeys checks that ModelKey differs between models and not between types of weights, and that FileKey
// differs between any two files.
func TestKeys(t *testing.T) {
	file, model := keys(t, folder+"youtu-mini-Q4_0.gguf")
	otherFile, same := keys(t, folder+"youtu-mini-Q4_K_M.gguf")
	_, other := keys(t, folder+"youtu-tiny-F32.gguf")
	if same != model || other == model || otherFile == file {
		t.Errorf("file %.8s, %.8s; model %.8s, %.8s, %.8s", file, otherFile, model, same, other)
	}
	data, err := os.ReadFile(folder + "youtu-mini-Q4_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	renamed := filepath.Join(t.TempDir(), "renamed.gguf")
	if err := os.WriteFile(renamed, bytes.Replace(data, token("nt"), token("nq"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, other := keys(t, renamed); other == model {
		t.Error("another text of a token: the same model")
	}
	changed := bytes.Clone(data)
	changed[len(changed)-1] ^= 1 // of the last tensor
	path := filepath.Join(t.TempDir(), "model.gguf")
	at := time.Unix(1e9, 0)
	var found []string
	for _, step := range []struct {
		data []byte
		time time.Time
	}{{data, at}, {data, at}, {changed, at}, {data, at.Add(1)}} {
		if err := errors.Join(os.WriteFile(path, step.data, 0o600), os.Chtimes(path, step.time, step.time)); err != nil {
			t.Fatal(err)
		}
		key, m := keys(t, path)
		if found = append(found, key); m != model {
			t.Errorf("model %.8s; want %.8s", m, model)
		}
	}
	if found[0] != found[1] || found[2] == found[0] || found[3] == found[0] {
		t.Errorf("%.8s: the same twice, another byte, another time", found)
	}
}

// TestPromptKey checks that cache rows of other kernels have another key, for a program with the source of
// the kernels and for one with only its hash.
func TestPromptKey(t *testing.T) {
	all := generated.Bundles()
	whole := *all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "yoututiny" })]
	kernels := func(source, hash string) string {
		b := whole
		b.Source, b.SourceHash = source, hash
		e, err := opening.On(folder+"youtu-tiny-F32.gguf", []*plan.Bundle{&b}, "", cpu.New())
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.Load(device.Config{Context: 64, KV: quant.F16})
		if err != nil {
			t.Fatal(err)
		}
		k, err := e.PromptKey(m, quant.F16)
		if err := errors.Join(err, m.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
		return k.Kernels
	}
	want := kernels(whole.Source, "")
	for _, tt := range []struct {
		source, hash string
		same         bool
	}{
		{whole.Source, "", true}, {"", whole.SourceSum(), true}, {whole.Source + "\n", "", false}, {"", strings.Repeat("0", 64), false},
	} {
		if got := kernels(tt.source, tt.hash); (got == want) != tt.same {
			t.Errorf("%d bytes of source, hash %q: key %.8s beside %.8s", len(tt.source), tt.hash, got, want)
		}
	}
}
