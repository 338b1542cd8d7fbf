package quantmix

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/gen/spec"
	"mla/gen/spectest"
	"mla/gen/weights"
	"mla/runtime/quant"
)

// models are the specs behind the names in testdata/quant_mixes.txt.
var models = map[string]string{"youtu": "youtu2b", "dsv2lite": "deepseekv2lite", "glm47": "glm47flash", "glm47mtp": "more/glm47flashmtp"}

func load(t *testing.T, name string) *spec.Spec {
	t.Helper()
	s, err := spec.Load("../../specs/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	header = regexp.MustCompile(`^### (\S+) (\S+) `)
	runs   = regexp.MustCompile(`(\S+) \[([^\]]*)\]`)
)

// dryRun is one block of the file: types by GGUF name without "blk.N." and
// ".weight"; layers -> type, layer -1 for all.
type dryRun struct {
	model, stock string
	types        map[string]map[int]string
}

func readDryRuns(t *testing.T) []dryRun {
	t.Helper()
	f, err := os.Open("testdata/quant_mixes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []dryRun
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := sc.Text()
		if m := header.FindStringSubmatch(line); m != nil {
			list = append(list, dryRun{m[1], strings.ToLower(m[2]), map[string]map[int]string{}})
			continue
		}
		fields := strings.Fields(line)
		if len(list) == 0 || len(fields) < 2 {
			continue
		}
		list[len(list)-1].types[fields[0]] = parseRuns(t, strings.Join(fields[1:], " "))
	}
	return list
}

func parseRuns(t *testing.T, text string) map[int]string {
	t.Helper()
	types := map[int]string{}
	all := runs.FindAllStringSubmatch(text, -1)
	if all == nil {
		types[-1] = strings.ToLower(text)
	}
	for _, m := range all {
		for _, span := range strings.Split(m[2], ",") {
			var a, b int
			if n, _ := fmt.Sscanf(span, "%d-%d", &a, &b); n < 2 {
				b = a
			}
			for l := a; l <= b; l++ {
				types[l] = strings.ToLower(m[1])
			}
		}
	}
	return types
}

// TestDryRuns compares the mixes with what llama-quantize does to files of the
// real shapes.
func TestDryRuns(t *testing.T) {
	compared := 0
	for _, run := range readDryRuns(t) {
		name, ok := models[run.model]
		if !ok {
			continue
		}
		s := load(t, name)
		seen := run.compare(t, s)
		if s.Model.NumNextNPredictLayers > 0 {
			maps.Copy(seen, run.compare(t, s.NextNLayer()))
			seen["nextn.embed_tokens"] = true // the host's
		}
		maps.DeleteFunc(run.types, func(short string, _ map[int]string) bool { return seen[short] })
		for left := range run.types {
			t.Errorf("%s %s: %s of the dry run is not in the weight table", run.model, run.stock, left)
		}
		compared++
	}
	if compared != 24 {
		t.Errorf("compared %d blocks; expected 24", compared)
	}
}

// compare compares the types of a model's weights, and returns what it has seen.
func (run *dryRun) compare(t *testing.T, s *spec.Spec) map[string]bool {
	t.Helper()
	types, err := Types(s, spec.Quant{Name: run.stock, Stock: run.stock})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, row := range weights.Table(s) {
		if row.F32 {
			continue
		}
		short := regexp.MustCompile(`^blk\.(%d|\d+)\.`).ReplaceAllString(strings.TrimSuffix(row.GGUF, ".weight"), "")
		want := run.types[short]
		if want == nil {
			t.Errorf("%s %s: the dry run lacks %s", run.model, run.stock, short)
		}
		seen[short] = true
		for l, got := range types[i] {
			w, layer := want[-1], s.NextN+row.First+l
			if w == "" {
				w = want[layer]
			}
			if got.String() != w {
				t.Errorf("%s %s: %s of layer %d is %s; the dry run has %s", run.model, run.stock, short, layer, got, w)
			}
		}
	}
	return seen
}

// mini is glm47-mini of testdata/reference: eight experts, four layers.
func mini() *spec.Spec {
	s := &spec.Spec{Model: spec.Model{Dims: spec.Dims{VocabSize: 512, HiddenSize: 256, NumHiddenLayers: 4, NumAttentionHeads: 5, QLoraRank: 256,
		KVLoraRank: 256, QKNopeHeadDim: 96, QKRopeHeadDim: 32, VHeadDim: 128, IntermediateSize: 768}}}
	s.MoE = &spec.MoE{NRoutedExperts: 8, NumExpertsPerTok: 4, NSharedExperts: 1, MoEIntermediateSize: 256, FirstKDenseReplace: 1}
	return s
}

func typesOf(t *testing.T, s *spec.Spec, q spec.Quant, role string) string {
	t.Helper()
	rows, types, err := Stored(s, q)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r weights.Row) bool { return r.Role == role })
	if i < 0 {
		t.Fatalf("no %s", role)
	}
	return spec.FormatTypes(types[i], rows[i].Numbers())
}

// TestSpecialRules covers what the dry runs do not reach. Sources: the rules of
// llama-quant.cpp, the reference files, and the tensor counts that published
// DeepSeek-V2-Lite files print when they are loaded.
func TestSpecialRules(t *testing.T) {
	lite := load(t, "deepseekv2lite")
	youtu := load(t, "youtu2b")
	odd := mini()
	odd.Model.QKNopeHeadDim, odd.Model.HiddenSize = 48, 96
	for _, c := range []struct {
		s       *spec.Spec
		profile string
		role    string
		want    string
	}{
		{mini(), "q4_k_m", weights.OProj, "q5_1"}, // Q5_K by the rule of eight, 640 columns
		{mini(), "q5_k_m", weights.OProj, "q5_1"},
		{mini(), "q4_0", weights.OProj, "q4_0"},
		{mini(), "q4_k_m", weights.ExpertsDown, "q4_k 1; q6_k"},
		{mini(), "q4_k_m legacy_kv_b", weights.KVB, "q8_0"},
		{mini(), "f16 legacy_kv_b", weights.KVB, "f16"},
		{odd, "q4_0", weights.KB, "f16"},
		{odd, "q4_k_m", weights.KB, "f16"},
		{odd, "q4_k_m", weights.LMHead, "q8_0"},
		{odd, "q4_0", weights.LMHead, "q8_0"}, // Q6_K falls back
		{odd, "q4_k_m", weights.QAProj, "q5_0"},
		{youtu, "q4_0 imatrix", weights.DownProj, "q4_1 0-3; q4_0"},
		{youtu, "q5_0 imatrix", weights.DownProj, "q5_1 0-3; q5_0"},
		{youtu, "iq4_xs", weights.DownProj, "q5_k 0-3; iq4_xs"},
		{youtu, "iq4_nl imatrix", weights.DownProj, "iq4_nl"},
		{youtu, "iq4_xs", weights.KB, "iq4_nl"},
		{youtu, "q4_k_m imatrix", weights.DownProj, "q6_k 0-3,6,9,12,15,18,21,24,27-31; q4_k"},
		{youtu, "bf16", weights.EmbedTokens, "bf16"},
		{lite, "q4_0 imatrix", weights.ExpertsDown, "q4_1 1-2; q4_0"},
		{lite, "q4_k_m legacy_kv_b", weights.KVB, "q6_k 0-2,5,8,11,14,17,20,23-26; q4_k"},
		{lite, "q5_k_m legacy_kv_b", weights.KVB, "q6_k 0-2,5,8,11,14,17,20,23-26; q5_k"},
		{lite, "q4_k_s legacy_kv_b", weights.KVB, "q5_k 0-3; q4_k"},
		{lite, "q4_0 legacy_kv_b", weights.KVB, "q4_0"},
		{youtu, "q3_k_m", weights.DownProj, "q5_k 0-1; q4_k"},
		{youtu, "q3_k_m", weights.OProj, "q4_k"},
		{youtu, "q3_k_m", weights.KB, "q4_0"},
		{youtu, "q3_k_l", weights.DownProj, "q5_k"},
		{youtu, "q3_k_s", weights.DownProj, "q3_k"},
		{youtu, "q2_k", weights.DownProj, "q3_k"},
		{youtu, "q2_k", weights.OProj, "q3_k"},
		{youtu, "q2_k_s", weights.DownProj, "q4_k 0-3; q2_k"},
		{youtu, "iq2_xxs imatrix", weights.EmbedTokens, "q5_k"}, // also the head
		{youtu, "iq3_xxs", weights.DownProj, "q4_k 0-3; q3_k"},
		{youtu, "iq3_xxs imatrix", weights.DownProj, "iq3_xxs"},
		{youtu, "iq1_s imatrix", weights.KB, "iq4_nl"},
		{youtu, "iq1_s imatrix", weights.OProj, "iq2_xxs"},
		{mini(), "q3_k_m", weights.OProj, "q5_1"}, // Q5_K by the rule of eight
		{mini(), "q3_k_l", weights.OProj, "q4_0"}, // Q3_K, to which that rule does not apply
		{mini(), "iq3_m legacy_kv_b", weights.KVB, "q8_0"},
		{mini(), "iq2_m imatrix legacy_kv_b", weights.KVB, "q4_k"},
		// Of 27 layers the first three down projections: of layer 0, and both of layer 1. The experts'
		// rows have 1,408 columns.
		{lite, "iq2_xxs imatrix", weights.ExpertsDown, "q4_0 1; iq4_nl"},
		{lite, "iq2_xxs imatrix", weights.SharedDown, "q2_k 1; iq2_xxs"},
		{lite, "iq2_s imatrix", weights.ExpertsGate, "iq2_xs"},
		{lite, "iq2_m imatrix", weights.ExpertsGate, "iq2_s"},
		{lite, "iq2_m imatrix", weights.EmbedTokens, "iq3_s"},
		{lite, "iq3_xxs imatrix", weights.QProj, "iq2_s"},
		{lite, "iq3_xs", weights.QProj, "iq3_xxs"},
		{lite, "iq3_xs", weights.ExpertsGate, "iq3_s 1-2,23-26; iq3_xxs"},
		{lite, "q3_k_m legacy_kv_b", weights.KVB, "q5_k 0-1; q4_k"},
		{lite, "iq2_xs imatrix legacy_kv_b", weights.KVB, "q4_k"},
		{lite, "iq3_xxs legacy_kv_b", weights.KVB, "iq3_s"},
		{lite, "iq3_xxs imatrix legacy_kv_b", weights.KVB, "iq3_xxs"},
		{lite, "tq2_0", weights.EmbedTokens, "q4_k"},
	} {
		q, err := spec.ParseQuant(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		if got := typesOf(t, c.s, q, c.role); got != c.want {
			t.Errorf("%s %s: %s; want %s", c.profile, c.role, got, c.want)
		}
	}
}

// TestLegacyCounts holds that the profile for the files of 2024 has the tensor
// counts that DeepSeek-V2-Lite-Chat-Q4_K_M prints: f32 108, q5_0 14, q8_0 13,
// q4_K 229, q6_K 13.
func TestLegacyCounts(t *testing.T) {
	s := load(t, "deepseekv2lite")
	i := slices.IndexFunc(s.Quants, func(q spec.Quant) bool { return q.Name == "q4_k_m 2024" })
	if i < 0 {
		t.Fatal("the spec lacks the profile \"q4_k_m 2024\"")
	}
	_, types, err := Stored(s, s.Quants[i])
	if err != nil {
		t.Fatal(err)
	}
	count := map[quant.Type]int{}
	for _, row := range types {
		for _, typ := range row {
			count[typ]++
		}
	}
	want := map[quant.Type]int{quant.F32: 108, quant.Q5_0: 14, quant.Q8_0: 13, quant.Q4_K: 229, quant.Q6_K: 13}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("counts %v; want %v", count, want)
	}
}

func TestLegacyTypes(t *testing.T) {
	s := mini()
	s.MoE.NRoutedExperts = 16
	for profile, want := range map[string][2]string{
		"q4_k_s legacy_kv_b": {"f32", "q5_k"},
		"q4_0 legacy_kv_b":   {"f32", "q4_0"},
		"f16 legacy_kv_b":    {"f16", "f16"},
		"bf16 legacy_kv_b":   {"bf16", "bf16"},
		"f32 legacy_kv_b":    {"f32", "f32"},
	} {
		q, err := spec.ParseQuant(profile)
		if err != nil {
			t.Fatal(err)
		}
		types, err := Types(s, q)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range weights.Table(s) {
			got := spec.FormatTypes(types[i], row.Numbers())
			if row.Role == weights.KB && got != want[0] || row.Role == weights.VB && got != want[1] {
				t.Errorf("%s: %s is %s; want %v", profile, row.Role, got, want)
			}
		}
	}
}

// TestAllFit holds that every type divides its rows, for any model.
func TestAllFit(t *testing.T) {
	for seed := range uint64(50) {
		s := spectest.Random(seed)
		for _, name := range Names() {
			for flags := range 4 {
				q := spec.Quant{Name: name, Stock: name, IMatrix: flags&1 != 0, LegacyKVB: flags&2 != 0}
				types, err := Types(s, q)
				if err != nil {
					t.Fatal(err)
				}
				for i, row := range weights.Table(s) {
					if len(types[i]) != row.Layers() {
						t.Fatalf("%s: %d types for %d layers", row.Role, len(types[i]), row.Layers())
					}
					for _, typ := range types[i] {
						if f, ok := quant.Lookup(typ); !ok || row.Cols%f.BlockElems != 0 || row.F32 && typ != quant.F32 {
							t.Errorf("seed %d %s %s: %s in rows of %d", seed, name, row.Role, typ, row.Cols)
						}
					}
				}
			}
		}
	}
}

func TestNames(t *testing.T) {
	if !slices.Equal(Names(), spec.Stocks) {
		t.Errorf("mixes %v; specs may name %v", Names(), spec.Stocks)
	}
	numbers := map[uint32]string{}
	for _, name := range Names() {
		n, err := FileType(name)
		if err != nil || numbers[n] != "" {
			t.Errorf("%s and %s have file type %d, error %v", name, numbers[n], n, err)
		}
		numbers[n] = name
	}
}

func TestErrors(t *testing.T) {
	s := mini()
	for want, q := range map[string]spec.Quant{
		`quant profile "x": unknown stock file type "q3_k"; known: [f32 f16`: {Name: "x", Stock: "q3_k"},
		`quant profile "x" has no type for embed_tokens`:                     {Name: "x"},
		`quant profile "x": embed_tokens has 2 types; expected one for each of 1 layers`: {Name: "x", Stock: "q4_0",
			Types: []spec.RoleTypes{{Role: weights.EmbedTokens, Types: make([]quant.Type, 2)}}},
	} {
		if _, err := Types(s, q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
	if _, err := FileType(strconv.Itoa(4)); err == nil {
		t.Error("unknown file type accepted")
	}
}
