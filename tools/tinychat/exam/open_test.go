package exam

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/runtime/gguf"
)

// small is a model of random weights with a multi-token prediction layer.
const small = "../../../testdata/models/glm47mtp-mini-Q4_K_M.gguf"

// chatting writes the model with GLM's template, which its file lacks.
func chatting(t *testing.T) string {
	t.Helper()
	template, err := os.ReadFile("../../../runtime/text/chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var infos []gguf.TensorInfo
	for _, x := range f.Tensors {
		infos = append(infos, gguf.TensorInfo{Name: x.Name, Type: x.Type, Dims: x.Dims})
	}
	path := filepath.Join(t.TempDir(), "chat.gguf")
	w, err := gguf.NewWriter(path, append(f.Meta[:len(f.Meta):len(f.Meta)], gguf.KV{Key: "tokenizer.chat_template", Value: gguf.String(string(template))}), infos)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, x := range f.Tensors {
		if err := w.WriteTensor(x.Name, func(out io.Writer) error { _, err := out.Write(x.Data); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpen: a model answers through the engine, the same with guesses and without.
func TestOpen(t *testing.T) {
	m, err := Open(chatting(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	if m.Renderer().Name() != "glm4" || !m.drafts {
		t.Errorf("renderer %s, drafts %v", m.Renderer().Name(), m.drafts)
	}
	if ids := m.tokens(m.tok.TokenText(m.tok.EOS())); len(ids) != 1 || ids[0] != m.tok.EOS() {
		t.Errorf("the name of a control token is tokens %d", ids)
	}
	ctx := context.Background()
	drafted, err := m.Answer(ctx, "the quick brown", 40)
	if err != nil {
		t.Fatal(err)
	}
	m.drafts = false
	alone, err := m.Answer(ctx, "the quick brown", 40)
	if err != nil {
		t.Fatal(err)
	}
	if alone.Text == "" || drafted.Text != alone.Text || drafted.Drafted == 0 || drafted.Accepted > drafted.Drafted || alone.Drafted != 0 {
		t.Errorf("with guesses %+v, alone %+v", drafted, alone)
	}
	if _, err := m.Answer(ctx, "the", m.model.Context()); err == nil || !strings.Contains(err.Error(), "do not fit") {
		t.Errorf("error %v", err)
	}
}

// TestOpenErrors: files that cannot be examined are errors.
func TestOpenErrors(t *testing.T) {
	for path, want := range map[string]string{"missing.gguf": "no such file", small: "tokenizer.chat_template is missing"} {
		if _, err := Open(path, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", path, err, want)
		}
	}
}
