package synth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/gguf"
	"mla/runtime/quant"
	"mla/runtime/text/tokenizer"
)

func load(t *testing.T, name string) *spec.Spec {
	t.Helper()
	s, err := spec.Load("../../specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, s *spec.Spec, profile string, seed uint64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := Write(t.Context(), s, profile, path, seed); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestWrite holds, for every small model and stock type, that the file opens,
// has the model's hyper-parameters, and exactly the tensors of the weight table
// with finite elements of the drawn distribution.
func TestWrite(t *testing.T) {
	for _, name := range []string{"youtumini", "dsv2litemini", "glm47tiny"} {
		s := load(t, name)
		for _, profile := range append(quantmix.Names(), "q4_0 imatrix", "q4_k_m legacy_kv_b") {
			f := open(t, write(t, s, profile, 1))
			checkHParams(t, s, f, strings.Contains(profile, "legacy"))
			q, err := spec.ParseQuant(profile)
			if err != nil {
				t.Fatal(err)
			}
			checkTensors(t, s, q, f)
		}
	}
}

func checkHParams(t *testing.T, s *spec.Spec, f *gguf.File, legacy bool) {
	t.Helper()
	h, err := gguf.ReadHParams(f)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	m := &s.Model
	got := h.Dims
	if got.RMSNormEps = m.RMSNormEps; got != m.Dims {
		t.Errorf("%s: got %+v; want %+v", s.Name, got, m.Dims)
	}
	if s.MoE != nil {
		e := h.MoE
		if e.RoutedScalingFactor = s.MoE.RoutedScalingFactor; e != *s.MoE || float32(h.RoutedScalingFactor) != float32(s.MoE.RoutedScalingFactor) {
			t.Errorf("%s: got %+v; want %+v", s.Name, e, *s.MoE)
		}
	}
	if h.LegacyKVB != legacy || h.TokenizerPre != s.Tokenizer || float32(h.RopeTheta) != float32(s.Rope.Theta) ||
		float32(h.RMSNormEps) != float32(m.RMSNormEps) || (h.RopeScaling.Type == "yarn") != (s.Rope.Scaling != nil) {
		t.Errorf("%s: got %+v", s.Name, h)
	}
}

func checkTensors(t *testing.T, s *spec.Spec, q spec.Quant, f *gguf.File) {
	t.Helper()
	rows, types, err := quantmix.Stored(s, q)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for i, row := range rows {
		for l, want := range types[i] {
			name := row.GGUF
			if row.First >= 0 {
				name = fmt.Sprintf(row.GGUF, row.First+l)
			}
			count++
			tensor, ok := f.Tensor(name)
			if !ok || tensor.Type != want || tensor.Elems() != uint64(row.Elems()) || tensor.Dims[0] != uint64(row.Cols) {
				t.Fatalf("%s %s: tensor %s: %+v; want %v of %+v", s.Name, q.Name, name, tensor, want, row)
			}
			checkElements(t, tensor, distributionOf(&row))
		}
	}
	if count != len(f.Tensors) {
		t.Errorf("%s: %d tensors; want %d", s.Name, len(f.Tensors), count)
	}
}

// checkElements compares mean and deviation with what was asked for. A sample
// of n elements has a standard error of the mean of std/√n, and of the deviation
// of about std/√(2n); blocks share a sign, which makes the mean's that of n/32
// independent ones at most. Six standard errors and the rounding of scales to
// halves (2^-11) stay below the bounds.
func checkElements(t *testing.T, tensor *gguf.Tensor, d distribution) {
	t.Helper()
	format, err := tensor.Format()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, tensor.Elems())
	format.Dequantize(x, tensor.Data)
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
		squares += (float64(v) - d.mean) * (float64(v) - d.mean)
	}
	n := float64(len(x))
	mean, std := sum/n, math.Sqrt(squares/n)
	if !(math.Abs(mean-d.mean) < 6*d.std*math.Sqrt(32/n)) || !(math.Abs(std/d.std-1) < 0.01+6/math.Sqrt(2*n)) {
		t.Errorf("%s (%s): mean %g, deviation %g; want %g, %g", tensor.Name, format.Name, mean, std, d.mean, d.std)
	}
}

// TestFormats covers the formats that stock types do not use. The power-of-two
// scale of MXFP4 is off by up to √2.
func TestFormats(t *testing.T) {
	for _, format := range quant.Formats() {
		if format.Loaded {
			continue // files have NVFP4 in its place
		}
		d := distribution{0, 0.02}
		f, err := newFiller(format.Type, d, rand.NewChaCha8([32]byte{}))
		if err != nil {
			t.Fatal(err)
		}
		const n = 1 << 16
		buf := make([]byte, n/format.BlockElems*format.BlockBytes)
		f.fill(buf)
		x := make([]float32, n)
		format.Dequantize(x, buf)
		var squares float64
		for _, v := range x {
			squares += float64(v) * float64(v)
		}
		if ratio := math.Sqrt(squares/n) / d.std; !(ratio > 0.7 && ratio < 1.42) {
			t.Errorf("%s: deviation is %g times what it should be", format.Name, ratio)
		}
	}
}

func TestDeterministic(t *testing.T) {
	s := load(t, "glm47mini")
	read := func(seed uint64) []byte {
		data, err := os.ReadFile(write(t, s, "q4_k_m", seed))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := read(7)
	if !bytes.Equal(first, read(7)) {
		t.Error("the same seed gives other bytes")
	}
	if bytes.Equal(first, read(8)) {
		t.Error("another seed gives the same bytes")
	}
}

// TestVocabulary holds that the tokens are distinct and that every merge makes a
// token out of two others.
func TestVocabulary(t *testing.T) {
	for _, n := range []int{256, 300, 500, 154820} {
		v := newVocabulary(n)
		if len(v.tokens) != n || len(v.merges) != n-256 {
			t.Fatalf("%d tokens, %d merges; want %d tokens", len(v.tokens), len(v.merges), n)
		}
		seen := map[string]bool{}
		for _, token := range v.tokens {
			if seen[token] {
				t.Fatalf("token %q appears twice", token)
			}
			seen[token] = true
		}
		for _, m := range v.merges {
			left, right, _ := strings.Cut(m, " ")
			if !seen[left] || !seen[right] || !seen[left+right] {
				t.Fatalf("merge %q has no tokens", m)
			}
		}
	}
	if byteRune(0) != 'Ā' || byteRune(' ') != 'Ġ' || byteRune('\n') != 'Ċ' || byteRune('a') != 'a' || byteRune(0xad) != 'Ń' {
		t.Error("bytes have other characters than byte-level vocabularies use")
	}
}

// TestTokenizer holds that the runtime can turn any text into ids of the
// vocabulary and back, and stops at the control tokens.
func TestTokenizer(t *testing.T) {
	const text = "func main() { bada duzi }\n\tπ ≈ 3.14, 你好 🙂"
	for name, stops := range map[string][]string{
		"youtu": {"<|end_of_text|>"}, "deepseek-llm": {"<｜end▁of▁sentence｜>"}, "glm4": {"<|endoftext|>", "<|user|>", "<|observation|>"},
		"deepseek-v3": {"<｜end▁of▁sentence｜>"}, "kimi-k2": {"[EOS]", "<|im_end|>"}, "gigachat": {"</s>", "<|message_sep|>"},
		"kanana2": {"<|im_end|>", "<|end_of_text|>"}, "tekken": {"</s>"}, "qwen2": {"<|im_end|>", "<|endoftext|>"},
		spec.SentencePiece: {"</s>", "<|im_end|>"},
	} {
		s := load(t, "youtumini")
		s.Tokenizer = name
		tok, err := tokenizer.FromGGUF(open(t, write(t, s, "q4_0", 1)))
		if err != nil {
			t.Fatal(err)
		}
		ids := tok.Encode(text, tokenizer.EncodeOptions{})
		if got := tok.Decode(ids); got != text {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
		if len(ids) >= len(text) {
			t.Errorf("%s: no merge applies: %d ids for %d bytes", name, len(ids), len(text))
		}
		if len(tok.EOG()) != len(stops) {
			t.Errorf("%s: %d tokens end a text; expected %q", name, len(tok.EOG()), stops)
		}
		for _, stop := range stops {
			if id, ok := tok.TokenID(stop); !ok || !tok.IsEOG(id) {
				t.Errorf("%s: %q does not end a text", name, stop)
			}
		}
	}
}

// TestSpecialTokens holds that a real vocabulary has its control tokens where
// the real model has them.
func TestSpecialTokens(t *testing.T) {
	for name, want := range map[string]struct{ bos, eos int64 }{
		"deepseekv2lite": {100000, 100001}, "youtu2b": {128000, 128001}, "glm47flash": {154822, 154820},
	} {
		s := load(t, name)
		var l metaList
		if err := l.tokenizer(s); err != nil {
			t.Fatal(err)
		}
		for _, kv := range l.list {
			switch kv.Key {
			case "tokenizer.ggml.tokens":
				if kv.Value.Len() != s.Model.VocabSize {
					t.Errorf("%s: %d tokens", name, kv.Value.Len())
				}
			case "tokenizer.ggml.bos_token_id":
				checkID(t, name, kv, want.bos)
			case "tokenizer.ggml.eos_token_id":
				checkID(t, name, kv, want.eos)
			}
		}
	}
}

func checkID(t *testing.T, name string, kv gguf.KV, want int64) {
	t.Helper()
	if got, err := kv.Value.Uint(); err != nil || int64(got) != want {
		t.Errorf("%s: %s is %d, %v; want %d", name, kv.Key, got, err, want)
	}
}

func TestErrors(t *testing.T) {
	s := load(t, "glm47tiny")
	path := filepath.Join(t.TempDir(), "x.gguf")
	small := *s
	small.Model.VocabSize = 260
	for _, c := range []struct {
		s             *spec.Spec
		profile, want string
	}{
		{s, "q4", "unknown quant profile"},
		{s, "", "empty quant profile"},
		{&small, "q4_0", "vocab_size is 260"},
	} {
		if err := Write(t.Context(), c.s, c.profile, path, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v; want %s", c.profile, err, c.want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a failed Write left a file")
	}
	if err := Write(t.Context(), s, "Q4_0 PURE", path, 1); err != nil {
		t.Errorf("profile of the spec: %v", err)
	}
	tensor, ok := open(t, path).Tensor("output.weight")
	if !ok || tensor.Type != quant.Q4_0 {
		t.Errorf("%s: %+v", weights.LMHead, tensor)
	}
}

func BenchmarkFill(b *testing.B) {
	for _, typ := range []quant.Type{quant.Q4_0, quant.Q4_K, quant.Q8_0, quant.F16} {
		b.Run(typ.String(), func(b *testing.B) {
			f, err := newFiller(typ, distribution{0, 1}, rand.NewChaCha8([32]byte{}))
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, chunkBytes/f.format.BlockBytes*f.format.BlockBytes)
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				f.fill(buf)
			}
		})
	}
}

// TestWriteInterrupted leaves no part of a file.
func TestWriteInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	err := Write(ctx, load(t, "yoututiny"), "f32", filepath.Join(dir, "x.gguf"), 1)
	if left, _ := os.ReadDir(dir); !errors.Is(err, context.Canceled) || len(left) > 0 {
		t.Errorf("%v; left behind: %v", err, left)
	}
}
