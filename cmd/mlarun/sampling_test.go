package main

import (
	"flag"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mla/cmd/internal/output"
	"mla/generated"
	"mla/runtime/gguf"
)

// withMeta is the shipped model with more keys, or other values of its own.
func withMeta(t *testing.T, more ...gguf.KV) string {
	t.Helper()
	f, err := gguf.Open(shipped)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var infos []gguf.TensorInfo
	for _, x := range f.Tensors {
		infos = append(infos, gguf.TensorInfo{Name: x.Name, Type: x.Type, Dims: x.Dims})
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	meta := slices.DeleteFunc(slices.Clone(f.Meta), func(kv gguf.KV) bool {
		return slices.ContainsFunc(more, func(own gguf.KV) bool { return own.Key == kv.Key })
	})
	w, err := gguf.NewWriter(path, append(meta, more...), infos)
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

// TestRecommended: what a file recommends counts where no flag is given, is said in one
// line, and is refused where no flag could have it.
func TestRecommended(t *testing.T) {
	path := withMeta(t,
		gguf.KV{Key: "general.sampling.temp", Value: gguf.Float32(0.25)}, gguf.KV{Key: "general.sampling.top_k", Value: gguf.Int32(1)},
		gguf.KV{Key: "general.sampling.penalty_last_n", Value: gguf.Int32(-1)}, gguf.KV{Key: "general.sampling.top_p", Value: gguf.Float32(7)},
		gguf.KV{Key: "general.sampling.min_p", Value: gguf.String("much")})
	args := []string{"-p", "func ", "-n", "12"}
	greedy := mlarun("", append(args, "-model", shipped, "-temp", "0")...)
	r := mlarun("", append(args, "-model", path)...)
	if r.code != 0 || r.out != greedy.out { // of one token there is no choice
		t.Errorf("code %d, %q; want %q\n%s", r.code, r.out, greedy.out, r.err)
	}
	for _, want := range []string{"as the file recommends: -temp 0.25 -top-k 1 -repeat-last-n -1\n", "not as the file recommends: general.sampling.top_p: top-p is 7", `general.sampling.min_p: "much" is no number`} {
		if strings.Count(r.err, want) != 1 {
			t.Errorf("no %q in %s", want, r.err)
		}
	}
	r = mlarun("", append(args, "-model", path, "-top-k", "0", "--temperature", "2", "-seed", "3")...)
	if r.code != 0 || r.out == greedy.out || !strings.Contains(r.err, "as the file recommends: -repeat-last-n -1\n") {
		t.Errorf("flags win: code %d, %q\n%s", r.code, r.out, r.err)
	}
	r = mlarun("func \n", "-model", path, "-parallel", "1", "-n", "12")
	if r.code != 0 || !strings.Contains(r.err, "as the file recommends: -temp 0.25") {
		t.Errorf("-parallel: code %d\n%s", r.code, r.err)
	}
}

// TestPenalties: every flag of sampling changes the text, and a forbidden token stays away.
func TestPenalties(t *testing.T) {
	args := []string{"-model", shipped, "-p", "func main() {\n", "-n", "24", "-temp", "0", "-quiet"}
	plain := mlarun("", args...)
	first := strings.Fields(mlarun(plain.out, "tokenize", "-model", shipped).out)[0]
	for _, more := range [][]string{{"-presence-penalty", "50"}, {"-frequency-penalty", "50"}, {"-repeat-penalty", "5"}, {"-logit-bias", first + "-inf"}, {"-l", first + "-99"}} {
		if r := mlarun("", append(args, more...)...); r.code != 0 || r.out == plain.out {
			t.Errorf("%q: code %d, %q\n%s", more, r.code, r.out, r.err)
		}
	}
	if r := mlarun("", append(args, "-frequency-penalty", "50", "-repeat-last-n", "0")...); r.out != plain.out {
		t.Errorf("nothing is recent, but %q", r.out)
	}
}

// TestStepFlags: every step that is named changes the text, or leaves what greedy text there is, and the
// same seed gives the same text.
func TestStepFlags(t *testing.T) {
	args := []string{"-model", shipped, "-p", "func main() {\n", "-n", "10", "-quiet", "-seed", "3"}
	greedy := mlarun("", append(args, "-temp", "0")...).out
	hot := append(args, "-temp", "3", "-top-k", "-1", "-top-p", "1", "-min-p", "0")
	wild := mlarun("", hot...).out
	for flags, want := range map[string]string{
		"":                       wild,
		"-samplers dry;xtc":      "", // without the temperature
		"-sampler-seq t -temp 3": wild,
		"-top-nsigma 0.01":       greedy,
		"-typical 0.3":           "",
		"-xtc-probability 1 -xtc-threshold 0.001": "",
		"-dynatemp-range 3 -dynatemp-exp 0.1":     "",
		"-dynatemp-range 3 -dynatemp-exp 100":     greedy,
		"-mirostat 1 -mirostat-ent 0":             greedy,
		"-mirostat 2 -mirostat-ent 0":             greedy,
		"-mirostat 2 -mirostat-lr 1":              "",
		"-dry-multiplier 5 -dry-base 2 -dry-allowed-length 0 -dry-penalty-last-n 50 -dry-sequence-breaker none": "",
		"-samplers k;top_k": "2",
	} {
		r := mlarun("", append(slices.Clone(hot), strings.Fields(flags)...)...)
		if want == "2" {
			if r.code != 2 || !strings.Contains(r.err, `"k" is no sampler`) {
				t.Errorf("%s: code %d %s", flags, r.code, r.err)
			}
			continue
		}
		again := r
		if strings.HasPrefix(flags, "-xtc") { // which has random numbers of its own
			again = mlarun("", append(slices.Clone(hot), strings.Fields(flags)...)...)
		}
		if r.code != 0 || r.out == "" || r.out != again.out || want != "" && r.out != want || want == "" && r.out == wild {
			t.Errorf("%s: code %d %s\n%q, again %q; wild %q, greedy %q", flags, r.code, r.err, r.out, again.out, wild, greedy)
		}
	}
	path := withMeta(t, gguf.KV{Key: "general.sampling.sequence", Value: gguf.String("dry;temperature")}, gguf.KV{Key: "general.sampling.mirostat", Value: gguf.Int32(9)})
	if r := mlarun("", "-model", path, "-p", "a", "-n", "1"); r.code != 0 || !strings.Contains(r.err, "as the file recommends: -samplers dry;temperature\n") || !strings.Contains(r.err, "general.sampling.mirostat: mirostat is 9") {
		t.Errorf("code %d %s", r.code, r.err)
	}
}

// TestAsGiven: flags of sampling reach the workers of serve -models as they were given, whatever their form.
func TestAsGiven(t *testing.T) {
	parse := func(args []string) (*sampling, []string) {
		t.Helper()
		e := &env{in: strings.NewReader(""), out: io.Discard, err: io.Discard, getenv: func(string) string { return "" }}
		f := newFlags(e, "mlarun serve", "", "")
		s := newSampling(f)
		if _, err := f.parse(args); err != nil {
			t.Fatal(err)
		}
		var again []string
		f.Visit(func(fl *flag.Flag) { again = append(again, asGiven(fl)...) })
		return s, again
	}
	for _, args := range []string{
		"-sampler-seq ktx -top-k -1", "-samplers top_k;xtc", "-samplers= -temp 2", "-dry-sequence-breaker a -dry-sequence-breaker b -dry-multiplier 0.5",
		"-dry-sequence-breaker none", "-logit-bias 5-inf -l 6+1.5", "-mirostat 2 -mirostat-ent 3 -typical 0.5 -seed 0",
	} {
		want, given := parse(strings.Fields(args))
		got, _ := parse(given)
		if !reflect.DeepEqual(got.params, want.params) || got.seed != want.seed {
			t.Errorf("%s: as %q %+v; expected %+v", args, given, got.params, want.params)
		}
	}
}

// TestIgnoreEOS: a text whose likeliest token would end it goes on.
func TestIgnoreEOS(t *testing.T) {
	path := withMeta(t)
	ends := strings.Fields(mlarun("", "greedy", "-model", path, "-tokens", "5", "-n", "1").out)[0]
	path = withMeta(t, gguf.KV{Key: "tokenizer.ggml.eot_token_id", Value: gguf.Uint32(number32(t, ends))})
	text := mlarun("", "detokenize", "-model", path, "-tokens", "5").out
	args := []string{"-model", path, "-p", text, "-n", "4", "-temp", "0"}
	if r := mlarun("", args...); r.code != 0 || !strings.Contains(r.err, "generated 0 tokens") {
		t.Fatalf("code %d, %q\n%s", r.code, r.out, r.err)
	}
	if r := mlarun("", append(args, "-ignore-eos")...); r.code != 0 || !strings.Contains(r.err, "generated 4 tokens") {
		t.Errorf("code %d, %q\n%s", r.code, r.out, r.err)
	}
	for want, flags := range map[string][]string{"stop": nil, "length": {"-ignore-eos"}} {
		if got, _ := asked(t, map[string]any{"prompt": text, "max_tokens": 4}, append(flags, "-model", path)...); got[0].Finish != want {
			t.Errorf("a server with %q ends by %s; expected %s", flags, got[0].Finish, want)
		}
	}
}

func number32(t *testing.T, text string) uint32 {
	t.Helper()
	ids, err := parseTokens(text)
	if err != nil || len(ids) != 1 {
		t.Fatal(err, text)
	}
	return uint32(ids[0])
}

// TestVariables: variables stand for flags that are not given, and say so if they are wrong.
func TestVariables(t *testing.T) {
	run := func(variables map[string]string, args ...string) result {
		var out, err strings.Builder
		e := &env{in: strings.NewReader(""), out: &out, err: &err, bundles: generated.Bundles(), devices: devices, auto: []string{"cpu"}, self: selfTested,
			getenv: func(name string) string { return variables[name] }}
		return result{e.main(args), out.String(), err.String()}
	}
	all := map[string]string{"MLA_MODEL": shipped, "MLA_TEMP": "0", "MLA_PREDICT": "6", "MLA_CTX_SIZE": "100", "MLA_THREADS": "1"}
	want := mlarun("", "-model", shipped, "-temp", "0", "-n", "6", "-p", "func ")
	if r := run(all, "-p", "func "); r.code != 0 || r.out != want.out || !strings.Contains(r.err, "context 100\n") {
		t.Errorf("code %d, %q; want %q\n%s", r.code, r.out, want.out, r.err)
	}
	if r := run(all, "-p", "func ", "--predict", "2"); r.code != 0 || !strings.Contains(r.err, "generated 2 tokens") {
		t.Errorf("a flag wins: code %d\n%s", r.code, r.err)
	}
	if r := run(all, "inspect", glm); r.code != 0 || !strings.Contains(r.out, "glm47tiny") {
		t.Errorf("an argument wins: code %d\n%s", r.code, r.err)
	}
	for name, want := range map[string]string{"MLA_TEMP": `MLA_TEMP is "x": "x" is no number`, "MLA_CTX_SIZE": `MLA_CTX_SIZE is "x"`} {
		if r := run(map[string]string{"MLA_MODEL": shipped, name: "x"}, "-p", "a"); r.code != 2 || !strings.Contains(r.err, want) {
			t.Errorf("%s: code %d, %s", name, r.code, r.err)
		}
	}
}

// TestOptions: every flag of every command has a row, and no row is for nothing.
func TestOptions(t *testing.T) {
	all := ""
	names := []string{""}
	for _, c := range commands {
		names = append(names, c.name)
	}
	for _, name := range names {
		r := mlarun("", strings.Fields(name+" -h")...)
		if r.code != 0 || strings.Contains(r.out, groupOther) {
			t.Errorf("%s -h: code %d, or flags without a row in options:\n%s", name, r.code, r.out)
		}
		all += r.out
	}
	for _, o := range options {
		if !strings.Contains(all, "\n  -"+o.name+" ") && !strings.Contains(all, "\n  -"+o.name+",") && !strings.Contains(all, "\n  -"+o.name+"\n") {
			t.Errorf("no command has -%s", o.name)
		}
	}
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, "      ") && len([]rune(strings.TrimRight(line, "\n"))) > output.Width {
			t.Errorf("a long line: %s", line)
		}
	}
}
