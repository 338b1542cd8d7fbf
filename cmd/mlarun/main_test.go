package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device/linalg"
	"mla/runtime/plan"
	"mla/runtime/system/child"
	"mla/runtime/system/npy"
)

const references = "../../testdata/reference/"

const (
	youtu  = references + "youtu-mini-Q4_0.gguf"
	glm    = references + "glm47-tiny-Q4_0.gguf"
	prompt = "3,40,200,7,99,270,61,62,63,300,11,5,311,128,77,350,42,17,233,9,188,256,30,64"
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// mlarun runs a command line with the compiled bundles.
func mlarun(stdin string, args ...string) result { return with(generated.Bundles(), stdin, args...) }

// with runs a command line with some of the compiled bundles and of classes. Processes
// that it starts have the same.
func with(bundles []*plan.Bundle, stdin string, args ...string) result {
	var out, err bytes.Buffer
	self := func(args []string) (child.Command, error) {
		var names []string
		for _, b := range bundles {
			names = append(names, b.Name)
		}
		c, err := selfTested(args)
		c.Env = append(c.Env, bundlesVariable+"="+strings.Join(names, " "))
		return c, err
	}
	e := &env{in: strings.NewReader(stdin), out: &out, err: &err, bundles: bundles, devices: devices, auto: []string{"cpu"}, self: self}
	return result{e.main(args), out.String(), err.String()}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		args string
		code int
		want string // on stderr, or stdout for code 0
	}{
		{"-h", 0, "-repeat-penalty"},
		{"bench -h", 0, "mlarun bench -model F"},
		{"help", 0, "mlarun detokenize -model F -tokens 3,40,200 | -\n"},
		{"help bench", 0, "-repetitions"},
		{"-model F -p a -lora x", 2, "there is no -lora: llama-export-lora of llama.cpp makes one model"},
		{"-model F -p a -tmep 1", 2, "there is no flag -tmep; did you mean -temp?"},
		{"-model F -p a -xyzzy 1", 2, "there is no flag -xyzzy\n"},
		{"-model F -p a -raw -sys x", 2, "-raw continues a text without a chat template"},
		{"dotcor", 2, "did you mean doctor?"},
		{"list x", 2, "unexpected argument"},
		{"rm", 2, "no model is named"},
		{"rm ../x", 2, "is no model of the hub"},
		{"version", 0, "bundles:\n"},
		{"-model F --prompt a --ctx-size x", 2, `invalid value "x" for flag -ctx-size`},
		{"-m F -prompt a -p b -f c", 2, "-p and -f cannot be used together"},
		{"-m F -p a -s 1 -t -2", 2, "-threads is -2"},
		{"-m F --prompt a --predict -2", 2, "-n is -2"},
		{"-m F -p a -logit-bias 5", 2, "expected a token's id and a number with its sign"},
		{"-m F -p a -logit-bias 5+inf", 2, "expected a token's id"},
		{"-m F -p a -repeat-last-n -2", 2, "repeat-last-n is -2"},
		{"-m F -p a -top-k -2", 2, "top-k is -2"},
		{"-m F -p a -typical-p 1.5", 2, "typical-p is 1.5, expected 0 to 1"},
		{"-m F -p a -dry-multiplier 1 -dry-base 0.5", 2, "dry-base is 0.5"},
		{"-m F -p a -mirostat 3", 2, "mirostat is 3, expected 0 to 2"},
		{"-m F -p a -sampling-seq kz", 2, "is the letter of no sampler"},
		{"serve -m F -xtc-probability 2", 2, "xtc-probability is 2"},
		{"-m F -p a -presence-penalty nan", 2, "presence penalty is NaN"},
		{"-m F -f /dev/zero", 1, "/dev/zero has more than 64 MiB"},
		{"-version", 0, "youtu2b"},
		{"", 2, "-model is missing"},
		{"-nope", 2, "there is no flag -nope"},
		{"bench -nope", 2, "Usage: mlarun bench"},
		{"bench -nope", 2, "mlarun bench -h lists the flags.\n"},
		{"model.gguf", 2, `"model.gguf" is no command; a model file goes after -model`},
		{"nope", 2, "mlarun help lists the commands"},
		{"pull u/r", 2, "here it is mlarun -hf USER/REPO"},
		{"nope", 2, `unknown command "nope"; there are bench, serve, worker, submit, perplexity, logits, greedy, tokenize, detokenize, doctor, list, rm, version, devices, inspect, help, completion, man`},
		{"-model F", 2, "no text: give -p, -f or -, or -chat"},
		{"-model F -p a -f b", 2, "-p and -f cannot be used together"},
		{"-model F -p a -", 2, "-p and - cannot be used together"},
		{"-model F -p a b", 2, `unexpected argument "b"`},
		{"-model F -p a -n -2", 2, "-n is -2"},
		{"-model F -p a -c -1", 2, "-c is -1"},
		{"-model F -p a -c x", 2, `invalid value "x" for flag -c`},
		{"-model F -p a -temp x", 2, `"x" is no number`},
		{"-model F -p a -temp -1", 2, "temperature is -1"},
		{"-model F -p a -top-p 2", 2, "top-p is 2"},
		{"-model F -p a -kv q4_0", 2, `-kv is "q4_0"; expected f16, f32 or q8_0`},
		{"-model F -p a -act f64", 2, `-act is "f64"; expected f32, f16 or q8`},
		{"doctor -act bf16", 2, `-act is "bf16"`},
		{"-model F -p a -think maybe", 2, `-think is "maybe"; expected on, off, show, hide or a number`},
		{"-model F -p a -threads -1", 2, "-threads is -1"},
		{"-model F -p a -ahead -1", 2, "-ahead is -1; expected 0 to 128"},
		{"-model F -p a -ahead 129", 2, "-ahead is 129"},
		{"-model F -p a -device gpu", 2, `-device is "gpu"; this program has auto or cpu`},
		{"-model F -p a -simd mmx", 2, `-simd: cpu back end "mmx": this machine has `},
		{"-model F -p a -stop=", 2, "an empty string would end every text"},
		{"greedy -model F", 2, "-tokens is missing"},
		{"greedy -model F -tokens 1 -tokens 2,", 1, "F"},
		{"greedy -model F -tokens 1 -tokens ,", 2, "a list without tokens"},
		{"-model F -parallel 0 -p a", 2, "-parallel is 0; expected 1 to"},
		{"-model F -parallel 9999999 -p a", 2, "-parallel is 9999999; expected 1 to"},
		{"-model F -parallel 2", 2, "-parallel continues the lines of -f, -p or -"},
		{"-model F -parallel 2 -raw -chat -p a", 2, "-raw continues a text"},
		{"greedy -model F -tokens 1,x", 2, `token 1 is "x"`},
		{"greedy -model F -tokens 1 -n -1", 2, "-n is -1"},
		{"greedy -model F -tokens 1 -", 2, `unexpected argument "-"`},
		{"logits -model F -tokens 1", 2, "-o is missing"},
		{"logits -model F -tokens 1 -o -", 2, "-o is -; expected a file"},
		{"logits -tokens 1 -o x", 2, "-model is missing"},
		{"bench -model F -d 1,x", 2, `-d: "x" is no number`},
		{"bench -model F -o xml", 2, `-o is "xml"; expected one of csv, json, jsonl, md`},
		{"bench -model F -p 0 -n 0", 2, "nothing to measure"},
		{"bench -model F -r 0", 2, "-r 1 or more"},
		{"bench -model F -p 9223372036854775807 -d 5", 2, `-p: "9223372036854775807" is no number from 0 to 1073741824`},
		{"tokenize -model F", 2, "no text"},
		{"detokenize -model F", 2, "no tokens"},
		{"detokenize -model F -tokens 1 -", 2, "cannot be used together"},
		{"detokenize -model F -tokens 1.5", 2, `-tokens: token 0 is "1.5"`},
		{"inspect", 2, "expected one model file, got 0"},
		{"-model /nonexistent.gguf -p a", 1, "/nonexistent.gguf"},
		{"inspect /nonexistent.gguf", 1, "/nonexistent.gguf"},
	}
	for _, tt := range tests {
		r := mlarun("", strings.Fields(tt.args)...)
		where := r.err
		if tt.code == 0 {
			where = r.out
		}
		if r.code != tt.code || !strings.Contains(where, tt.want) {
			t.Errorf("mlarun %s: code %d, want %d with %q\nstdout: %s\nstderr: %s", tt.args, r.code, tt.code, tt.want, r.out, r.err)
		}
		if usage := strings.Contains(r.err, "Usage"); usage != (tt.code == 2) || usage && strings.Count(r.err, "\n") != 3 {
			t.Errorf("mlarun %s: usage on stderr: %v\n%s", tt.args, usage, r.err)
		}
		if tt.code != 0 && r.out != "" {
			t.Errorf("mlarun %s: failed, but wrote %q to stdout", tt.args, r.out)
		}
	}
}

func TestGreedy(t *testing.T) {
	const want = "374 278 31 245 346 57 365 245 346 57 365 245 328 22 284 354\n" // glm47-tiny-Q4_0.tokens
	r := mlarun("", "greedy", "-model", glm, "-tokens", prompt, "-kv", "f32")
	if r.code != 0 || r.out != want {
		t.Errorf("code %d, %q; want %q\n%s", r.code, r.out, want, r.err)
	}
	r = mlarun("", "greedy", "-n", "3", "-quiet", "-model", glm, "-tokens", strings.ReplaceAll(prompt, ",", " "), "-kv", "f32", "-threads", "1")
	if r.code != 0 || r.out != "374 278 31\n" || r.err != "" {
		t.Errorf("-n 3 -quiet: code %d, %q, %q", r.code, r.out, r.err)
	}
	// Rotated keys of 16 columns are no whole block.
	r = mlarun("", "greedy", "-model", glm, "-tokens", prompt, "-kv", "q8_0")
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "KV cache of q8_0 for rows of 64 + 16 columns; expected multiples of 32: use f16") {
		t.Errorf("-kv q8_0: code %d, %q", r.code, r.err)
	}
	// Several lists together, each as if it were alone.
	r = mlarun("", "greedy", "-model", glm, "-tokens", prompt, "-tokens", "5", "-tokens", prompt, "-kv", "f32")
	one := mlarun("", "greedy", "-model", glm, "-tokens", "5", "-kv", "f32")
	if r.code != 0 || one.code != 0 || r.out != want+one.out+want {
		t.Errorf("three lists: code %d, %q, %s; the second alone %q", r.code, r.out, r.err, one.out)
	}
	r = mlarun("", "greedy", "-model", glm, "-tokens", "1", "-tokens", "1,384")
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "list 2: token 384 at position 1 is outside the vocabulary of 384") {
		t.Errorf("token outside the vocabulary: code %d, %s", r.code, r.err)
	}
	r = mlarun("", "greedy", "-model", glm, "-tokens", "1,384")
	if r.code != 1 || !strings.Contains(r.err, "token 384 at position 1 is outside the vocabulary of 384") {
		t.Errorf("token outside the vocabulary: code %d, %s", r.code, r.err)
	}
}

func TestLogits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npy")
	r := mlarun("", "logits", "-model", glm, "-tokens", "3,40,200", "-o", path)
	if r.code != 0 {
		t.Fatalf("code %d: %s", r.code, r.err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, rows, cols, err := npy.Read(file)
	if err != nil || rows != 3 || cols != 384 || len(data) != 3*384 {
		t.Errorf("%d × %d, %v; want 3 × 384", rows, cols, err)
	}
	for _, tt := range []struct{ tokens, path, want string }{
		{"3", filepath.Join(t.TempDir(), "x", "out.npy"), "no such file or directory"},
		{"3", t.TempDir(), "is not a regular file"},
		{"3,999", path, "token 999 at position 1 is outside the vocabulary"},
	} {
		if r := mlarun("", "logits", "-model", glm, "-tokens", tt.tokens, "-o", tt.path); r.code != 1 || !strings.Contains(r.err, tt.want) {
			t.Errorf("-tokens %s -o %s: code %d, %s", tt.tokens, tt.path, r.code, r.err)
		}
	}
}

// TestContextOfTokens: -c makes room for more than the tokens that are given.
func TestContextOfTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.npy")
	for _, args := range [][]string{{"logits", "-o", path, "-tokens", "3,40,200"}, {"greedy", "-n", "2", "-tokens", "3,40"}, {"greedy", "-n", "2", "-tokens", "3,40", "-tokens", "3"}} {
		args = append(args, "-model", glm)
		want := mlarun("", args...)
		r := mlarun("", append(args, "-c", "300")...)
		if r.code != 0 || !strings.Contains(r.err, "context 300\n") || r.out != want.out {
			t.Errorf("%v -c 300: code %d, %q, %s", args, r.code, r.out, r.err)
		}
		if r := mlarun("", append(args, "-c", "1")...); r.code != 0 || strings.Contains(r.err, "context 1\n") || r.out != want.out {
			t.Errorf("%v -c 1: code %d, %q, %s", args, r.code, r.out, r.err)
		}
		if r := mlarun("", append(args, "-c", "-1")...); r.code != 2 || !strings.Contains(r.err, "-c is -1") {
			t.Errorf("%v -c -1: code %d, %s", args, r.code, r.err)
		}
	}
}

func TestGenerate(t *testing.T) {
	args := []string{"-model", youtu, "-n", "8", "-temp", "0", "-c", "4096"}
	from := func(stdin string, more ...string) result { return mlarun(stdin, append(args, more...)...) }
	want := from("", "-p", "hello")
	if want.code != 0 || want.out == "" {
		t.Fatalf("code %d, %q\n%s", want.code, want.out, want.err)
	}
	for _, part := range []string{"bundle youtumini (f32 activations) on cpu, context 4096", "memory: weights 2.33 MiB + pages 9.00 MiB (4096 tokens)", "prompt 2 tokens", "generated 8 tokens", "end: length"} {
		if !strings.Contains(want.err, part) {
			t.Errorf("stderr lacks %q:\n%s", part, want.err)
		}
	}
	file := filepath.Join(t.TempDir(), "prompt.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]result{"-f": from("", "-f", file), "-": from("hello", "-"), "piped": from("hello"), "aliases": mlarun("", "--m", youtu, "--predict", "8", "--temperature", "0", "--prompt", "hello"), "-f -": from("hello", "-f", "-"), "-bundle": from("", "-p", "hello", "-bundle", "youtumini")} {
		if r.code != 0 || r.out != want.out {
			t.Errorf("%s: code %d, %q; want %q", name, r.code, r.out, want.out)
		}
	}
	if r := from("", "-p", "hello", "-quiet"); r.err != "" || r.out != want.out {
		t.Errorf("-quiet: %q on stderr", r.err)
	}
	if r := from("", "-p", "hello", "-v", "-quiet"); r.err != "" {
		t.Errorf("-v -quiet: %q", r.err)
	}
	if r := from("", "-p", "hello", "-v"); !strings.Contains(r.err, fmt.Sprintf("dispatches per token: %d\nCPU inner loops: %s\n", dispatches(t, "youtumini"), linalg.Backend())) {
		t.Errorf("-v: %q", r.err)
	}
	if r := from("", "-p", "hello", "-v"); !regexp.MustCompile(`load \d+\.\d\d s, \d+\.\d\d GB/s · `).MatchString(r.err) {
		t.Errorf("-v: no speed of loading in %q", r.err)
	}
	if r := from("", "-p", "hello", "-stop", want.out[2:4]); !strings.HasPrefix(want.out, r.out) || len(r.out) > 2 || !strings.Contains(r.err, "end: stop") {
		t.Errorf("-stop %q: %q\n%s", want.out[2:4], r.out, r.err)
	}
}

// TestVerboseOnGPU wants -v to say how much was compiled.
func TestVerboseOnGPU(t *testing.T) {
	r := process(t, []string{"METALSIM_KERNELS=stub", "XDG_CACHE_HOME=" + t.TempDir()},
		"-device", "metal", "-metal-lib", simulator(t), "-model", glm, "-p", "a", "-n", "1", "-v", "-temp", "0", "-replay", "encode")
	found := regexp.MustCompile(`compiled: (\d+) of (\d+) kernels from Metal source, (\d+) of (\d+) bytes \(\d+\.\d % with what is inlined\)\n`).FindStringSubmatch(r.err)
	if r.code != 0 || found == nil {
		t.Fatalf("code %d\n%s", r.code, r.err)
	}
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(found[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if n[0] < 1 || n[0] > n[1] || n[2] < 1 || n[2] >= n[3] {
		t.Errorf("%d of %d kernels, %d of %d bytes", n[0], n[1], n[2], n[3])
	}
}

func dispatches(t *testing.T, bundle string) int {
	t.Helper()
	for _, b := range generated.Bundles() {
		if b.Name == bundle {
			return len(b.Decode().Dispatches)
		}
	}
	t.Fatalf("no bundle %s", bundle)
	return 0
}

func TestGenerateSeed(t *testing.T) {
	sampled := func(seed string) string {
		return mlarun("", "-model", youtu, "-n", "16", "-temp", "2", "-seed", seed, "-p", "hello").out
	}
	if a, b := sampled("7"), sampled("7"); a != b || a == "" {
		t.Errorf("the same seed gives %q and %q", a, b)
	}
	if sampled("7") == sampled("8") {
		t.Error("another seed gives the same text")
	}
}

func TestGenerateErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"-p", "hello there", "-c", "2", "-n", "100"}, "3 tokens do not fit the context of 2; -c 103 has room for it and an answer (the model allows 131072)"},
		{[]string{"-p", strings.Repeat("hello ", 1<<16) + strings.Repeat("\x01", 1<<17)}, "and the model allows no more than 131072"},
		{[]string{"-p", "x", "-c", "1000000"}, "a context of 1000000 tokens; this model allows 1 to 131072"},
		{[]string{"-p", "x", "-c", "9223372036854775807"}, "this model allows 1 to 131072"},
		{[]string{"-p", "x", "-bundle", "nope"}, `bundle "nope" is not in this program, which has `},
		{[]string{"-p", "x", "-bundle", "glm47tiny"}, "num_attention_heads: found 4, expected 5"},
		{[]string{"-p", "x", "-chat"}, "this model has no chat format: give it plain text to continue\n-raw continues a text as it is; -chat-template FILE"},
		{[]string{"-p", "x", "-sys", "s"}, "this model has no chat format"},
		{[]string{"-f", "/nonexistent"}, "/nonexistent"},
	}
	for _, tt := range tests {
		r := mlarun("", append([]string{"-model", youtu}, tt.args...)...)
		if r.code != 1 || !strings.Contains(r.err, tt.want) || r.out != "" {
			t.Errorf("%q: code %d, %q\n%s", tt.args, r.code, r.out, r.err)
		}
	}
	r := with(nil, "", "-model", youtu, "-p", "x")
	if want := "no bundle fits " + youtu + "; to make one: mlagen -gguf " + youtu + "\n"; r.code != 1 || !strings.Contains(r.err, want) {
		t.Errorf("without bundles: code %d, stderr lacks %q:\n%s", r.code, want, r.err)
	}
}

// TestSIMD runs the pure Go loops, which every machine has.
func TestSIMD(t *testing.T) {
	before := linalg.Backend()
	defer func() {
		if err := linalg.SetBackend(before); err != nil {
			t.Error(err)
		}
	}()
	r := mlarun("", "-model", youtu, "-p", "hello", "-n", "1", "-v", "-simd", "go")
	if r.code != 0 || !strings.Contains(r.err, "CPU inner loops: go\n") {
		t.Errorf("code %d, %s", r.code, r.err)
	}
}

func TestTokenize(t *testing.T) {
	r := mlarun("", "tokenize", "-model", youtu, "-p", "hello 123")
	if r.code != 0 || strings.Count(r.out, "\n") != 1 || strings.ContainsAny(r.out, ",[") {
		t.Fatalf("code %d, %q\n%s", r.code, r.out, r.err)
	}
	if file := mlarun("hello 123", "tokenize", "-model", youtu, "-"); file.out != r.out {
		t.Errorf("from stdin: %q; want %q", file.out, r.out)
	}
	for _, back := range []result{mlarun(r.out, "detokenize", "-model", youtu, "-"), mlarun("", "detokenize", "-model", youtu, "-tokens", strings.TrimSpace(r.out))} {
		if back.code != 0 || back.out != "hello 123" {
			t.Errorf("detokenize: code %d, %q\n%s", back.code, back.out, back.err)
		}
	}
	if r := mlarun("", "detokenize", "-model", youtu, "-tokens", "5,512"); r.code != 1 || !strings.Contains(r.err, "token 1 is 512; the vocabulary has 512") {
		t.Errorf("token outside the vocabulary: code %d, %s", r.code, r.err)
	}
}

// TestEmptyPrompt has a model that does not begin texts with BOS.
func TestEmptyPrompt(t *testing.T) {
	if r := mlarun("", "-model", glm, "-p", ""); r.code != 1 || !strings.Contains(r.err, "prompt is empty") {
		t.Errorf("code %d, %s", r.code, r.err)
	}
}
