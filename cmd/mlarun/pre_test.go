package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPre: a file whose pre-tokeniser nobody knows runs with one that is named.
func TestPre(t *testing.T) {
	data, err := os.ReadFile(glm)
	if err != nil {
		t.Fatal(err)
	}
	const value = "\x04\x00\x00\x00\x00\x00\x00\x00"
	other := strings.Replace(string(data), value+"glm4", value+"mine", 1)
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	want := mlarun("", "tokenize", "-m", glm, "-p", "hello, 1234 you")
	for args, says := range map[string]string{
		"-m " + path:                  `key "tokenizer.ggml.pre" is "mine", which is no pre-tokeniser that this program knows; -pre NAME`,
		"-pre glm4 -m " + path:        "",
		"-pre chatglm-bpe -m " + path: "",
		"-pre nope -m " + path:        `key "tokenizer.ggml.pre" is "nope"`,
	} {
		r := mlarun("", append([]string{"tokenize", "-p", "hello, 1234 you"}, strings.Fields(args)...)...)
		if says == "" && r != want || says != "" && (r.code == 0 || !strings.Contains(r.err, says)) {
			t.Errorf("%s: %+v; want %q", args, r, says)
		}
	}
}
