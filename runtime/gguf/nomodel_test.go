package gguf

import (
	"os"
	"path/filepath"
	"testing"

	"mla/runtime/quant"
)

// TestNotGGUF checks that other kinds of files under a model's name are recognised by their first bytes.
func TestNotGGUF(t *testing.T) {
	for data, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n": "Git LFS pointer",
		"<!DOCTYPE html>\n<html>":                     "web page",
		"\n  <html lang=en>":                          "web page",
		"Entry not found":                             "no such file",
		"Invalid username or password.":               "HF_TOKEN",
		"Access to model x is restricted":             "HF_TOKEN",
		"{\"error\":\"no\"}":                          "error message",
		"PK\x03\x04....":                              "zip archive",
		"\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":{}} ": "safetensors",
		"tjgg\x03\x00":                                "before GGUF",
		string(make([]byte, 300)):                     "begins with zeros",
		"":                                            "is empty",
	} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		wantError(t, err, "m.gguf", "no GGUF file", want)
	}
	_, err := Parse("m.gguf", []byte("GGUX........"))
	wantError(t, err, `magic is "GGUX"`)
}

// TestFolder checks that the error for a folder names its kind, by the files in it.
func TestFolder(t *testing.T) {
	for name, want := range map[string]string{
		"a.gguf": "a.gguf is a model", "model.safetensors": "MLX or Transformers", "x.txt": "is a folder; expected a GGUF file",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		wantError(t, err, dir, want)
	}
}

// TestNoModel checks that the error for a GGUF file of another kind names the kind.
func TestNoModel(t *testing.T) {
	for _, c := range []struct {
		key, value, want string
	}{
		{"general.type", "adapter", "LoRA adapter; llama-export-lora"},
		{"general.type", "mmproj", "image encoder"},
		{"general.architecture", "clip", "image encoder"},
		{"general.type", "imatrix", "llama-quantize --imatrix"},
		{"general.architecture", "controlvector", "control vector"},
		{"general.type", "vocab", "a vocabulary without weights"},
	} {
		m := smallModel()
		m.keys[c.key] = String(c.value)
		_, err := ReadHParams(open(t, m.write(t)))
		wantError(t, err, "m.gguf", "this is no model: it is a", c.want)
	}
	path := writeFile(t, filepath.Join(t.TempDir(), "m.gguf"), []KV{{"tokenizer.ggml.tokens", Strings([]string{"a"})}}, nil)
	_, err := ReadHParams(open(t, path))
	wantError(t, err, "a vocabulary without weights")
}

// TestCheckTypes checks that the error for an unsupported type names the type and the number of its tensors.
func TestCheckTypes(t *testing.T) {
	for typ, want := range map[quant.Type]string{
		31:    "Q4_0_4_4, which llama.cpp has removed; the Q4_0 or IQ4_NL file",
		139:   "IQ4_K of ik_llama.cpp; that program runs it",
		99999: "TYPE 99999; another file of the same model may have types that run. Types that run: F32, F16, ",
	} {
		f := open(t, smallModel().write(t))
		f.Tensors = append(f.Tensors, Tensor{Name: "blk.1.a.weight", Type: typ}, Tensor{Name: "blk.2.a.weight", Type: typ}, Tensor{Name: "blk.3.a.weight", Type: typ})
		wantError(t, f.CheckTypes(&HParams{Dims: dimsOf(3)}), "m.gguf", `"blk.1.a.weight" and 1 more`, want)
		if err := f.CheckTypes(&HParams{Dims: dimsOf(1)}); err != nil {
			t.Errorf("blocks after the layers: %v", err)
		}
	}
}
