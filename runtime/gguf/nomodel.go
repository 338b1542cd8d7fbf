package gguf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// loadAgain is advice for a file that was damaged or is not a model.
const loadAgain = "mlarun -hf user/repo:QUANT loads a model file from the Hugging Face hub"

// beginnings is what files begin with that are named .gguf and have another format.
var beginnings = []struct {
	start string // in lower case
	what  string
}{
	{"version https://git-lfs", "it is a Git LFS pointer, a few lines that stand for the file; git lfs pull, in its folder, brings the file, or " + loadAgain},
	{"<!doctype", "it is a web page; " + loadAgain},
	{"<html", "it is a web page; " + loadAgain},
	{"<?xml", "it is a message of a server in XML; " + loadAgain},
	{"entry not found", "it is the hub's message that there is no such file; " + loadAgain},
	{"repository not found", "it is the hub's message that there is no such repository; " + loadAgain},
	{"invalid username or password", "it is the hub's message that the model wants a token; set HF_TOKEN, and " + loadAgain},
	{"access to model", "it is the hub's message that the model wants a token; accept its terms there, set HF_TOKEN, and " + loadAgain},
	{"{\"error\"", "it is an error message of a server; " + loadAgain},
	{"pk\x03\x04", "it is a zip archive, perhaps of PyTorch weights; convert_hf_to_gguf.py of llama.cpp makes GGUF files of models"},
	{"ggml", "it has a format from before GGUF; look for a newer file of the model"},
	{"lmgg", "it has a format from before GGUF; look for a newer file of the model"},
	{"fmgg", "it has a format from before GGUF; look for a newer file of the model"},
	{"tjgg", "it has a format from before GGUF; look for a newer file of the model"},
	{"\x1f\x8b", "it is compressed; gunzip unpacks it"},
	{"\x28\xb5\x2f\xfd", "it is compressed; unzstd unpacks it"},
}

// notGGUF says what data is that does not begin like a GGUF file, with advice; "": unknown.
func notGGUF(data []byte) string {
	if len(data) == 0 {
		return "it is empty; " + loadAgain
	}
	head := data[:min(len(data), 256)]
	text := strings.TrimLeft(strings.ToLower(string(head)), " \t\r\n\ufeff")
	for _, b := range beginnings {
		if strings.HasPrefix(text, b.start) {
			return b.what
		}
	}
	switch {
	case len(head) > 9 && head[8] == '{' && bytes.HasPrefix(head[4:8], []byte{0, 0, 0, 0}):
		return "it holds safetensors; convert_hf_to_gguf.py of llama.cpp makes a GGUF file of the model's folder"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "it begins with zeros: loading it was not finished; " + loadAgain
	}
	return ""
}

// folder is advice if the path of a model is a folder.
func folder(path string) string {
	entries, _ := os.ReadDir(path) // a folder that cannot be read counts as empty
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	has := func(ending string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ending) })
	}
	switch at := has(".gguf"); {
	case at >= 0:
		return fmt.Sprintf("is a folder; its file %s is a model, and serve -models serves all of them", filepath.Join(path, names[at]))
	case has(".safetensors") >= 0 || has(".npz") >= 0:
		return "is a folder with weights of MLX or Transformers, which this program does not read; look for a GGUF file of the model: " + loadAgain
	}
	return "is a folder; expected a GGUF file"
}

const vocabularyOnly = "it is a vocabulary without weights, which tokenize and detokenize take; everything else takes a model file"

// noModels is kinds of GGUF files without a model, by the value of a key.
var noModels = []struct{ key, value, what string }{
	{"general.type", "adapter", "it is a LoRA adapter; llama-export-lora -m BASE.gguf --lora F -o MERGED.gguf, of llama.cpp, makes a model of it and its base, which runs here"},
	{"general.type", "mmproj", "it is an image encoder, which this program does not run; -m takes the model file beside it"},
	{"general.architecture", "clip", "it is an image encoder, which this program does not run; -m takes the model file beside it"},
	{"general.type", "imatrix", "it is an importance matrix, which llama-quantize --imatrix F takes; -m takes a model file"},
	{"general.type", "vocab", vocabularyOnly},
	{"general.architecture", "controlvector", "it is a control vector, which this program does not apply; -m takes a model file"},
}

// notModel says what a GGUF file without a model is, with advice; "": it may hold a model.
func (f *File) notModel() string {
	for _, n := range noModels {
		if value, _, _ := f.String(n.key); value == n.value {
			return n.what
		}
	}
	_, tokens := f.Lookup("tokenizer.ggml.tokens")
	if tokens && len(f.Tensors) == 0 {
		return vocabularyOnly
	}
	return ""
}
