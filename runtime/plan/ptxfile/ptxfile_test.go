package ptxfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"mla/runtime/plan"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestText checks that PTX of the bundle's source is read, for any length, and that other PTX is refused.
func TestText(t *testing.T) {
	b := &plan.Bundle{Source: "kernel void f();\n"}
	head := fmt.Sprintf("// made\n// kernels.metal sha256:%x\n", sha256.Sum256([]byte(b.Source)))
	for _, text := range []string{head, head + strings.Repeat("mov.u32;\n", 1000)} {
		if got, err := Text(b, packed(t, text)); err != nil || got != text {
			t.Errorf("%d bytes of %d: %v", len(got), len(text), err)
		}
	}
	kept := &plan.Bundle{SourceHash: b.SourceSum()}
	if err := Check(kept, packed(t, head)); err != nil {
		t.Errorf("a bundle without its source: %v", err)
	}
	kept.SourceHash = kept.SourceHash[1:] + "0"
	if err := Check(kept, packed(t, head)); err == nil {
		t.Error("a bundle without its source takes PTX of another")
	}
	good := packed(t, head+strings.Repeat("add;", 1000))
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"nothing":        {nil, "EOF"},
		"no gzip":        {[]byte("// kernels"), "gzip"},
		"another source": {packed(t, strings.Replace(head, "256:", "256:0", 1)), "not from this Metal source"},
		"a later head":   {packed(t, strings.Repeat(" ", headBytes)+head), "not from this Metal source"},
		"cut off":        {good[:len(good)-6], "unexpected EOF"},
	} {
		if _, err := Text(b, tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", name, err, tt.want)
		}
	}
}
