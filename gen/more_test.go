package gen_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen"
	"mla/gen/quantmix"
	"mla/gen/spec"
	"mla/gen/weights"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// published are published numbers of the models of specs/more and others: parameters in billions, tensors of
// a file, and sizes of files by llama.cpp's quantiser in MiB. 0: unknown.
var published = map[string]struct {
	params             float64
	tensors            int
	q4_0, q4_k_m, q8_0 float64
}{
	"deepseekv3":     {671.026, 1086, 360547, 385751, 680238},
	"kimik2":         {1026.4, 1096, 551442, 591803, 1040503},
	"moonlight":      {15.960, 430, 8656, 10046, 16182},
	"gigachat3":      {10.673, 414, 5782, 6169, 10821},
	"kanana2":        {30.449, 766, 16440, 17602, 30889},
	"mistrallarge3":  {673.4, 1028, 361660, 386951, 682515},
	"glm47flashreap": {22.996, 844, 12430, 13280, 23315},
	"glm47flashmtp":  {31.221, 868, 16847.58, 18020.27, 31654.09}, // with the multi-token prediction layer
	"mistralsmall4":  {118.973, 579 + 36, 64017, 68808, 120607},   // gate and up apart, which its files have in one
	"minicpm3":       {4.074, 748 - 2, 2233, 2363, 4129},          // without the rotary factors
	"plm":            {1.825, 290, 1056, 1131, 1850},
	"kimilinear":     {49.123, 610, 26499, 28320, 49821},
	"ling3tiny":      {7.893, 526, 4310, 4594, 8012},       // a bundle ships
	"ling3flash":     {127.486, 938, 68671, 73436, 129336}, // with the multi-token prediction layer
}

// TestMoreSpecs compiles the specs of models, most of them without a bundle in the programs, and compares
// their dimensions with published numbers.
func TestMoreSpecs(t *testing.T) {
	files, err := filepath.Glob("../specs/more/*.yaml")
	files = append(files, "../specs/ling3tiny.yaml")
	if err != nil || len(files) != len(published) {
		t.Fatalf("%d specs, %v; expected %d", len(files), err, len(published))
	}
	for _, file := range files {
		s, err := spec.Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		want, ok := published[s.Name]
		if !ok {
			t.Errorf("%s: nothing is known of the model", s.Name)
		}
		if _, err := gen.Compile(s, nil); err != nil {
			t.Error(err)
		}
		for stock, mib := range map[string]float64{"q4_0": want.q4_0, "q4_k_m": want.q4_k_m, "q8_0": want.q8_0} {
			tensors, elems, bytes := stored(t, s, stock)
			// Published to four digits and more.
			if tensors != want.tensors || math.Abs(float64(elems)/1e9-want.params) > 3e-4*want.params {
				t.Errorf("%s: %d tensors of %.3f billion numbers; expected %d of %.3f", s.Name, tensors, float64(elems)/1e9, want.tensors, want.params)
			}
			if got := bytes / (1 << 20); mib > 0 && math.Abs(got-mib) > 0.6 { // published in whole ones
				t.Errorf("%s %s: %.1f MiB; expected %.0f", s.Name, stock, got, mib)
			}
		}
	}
}

// stored returns the tensors, elements and bytes of a file of a stock type.
func stored(t *testing.T, s *spec.Spec, stock string) (tensors, elems int, bytes float64) {
	t.Helper()
	rows, types, err := quantmix.Stored(s, spec.Quant{Stock: stock})
	if err != nil {
		t.Fatal(err)
	}
	if s.Model.NumNextNPredictLayers > 0 {
		layer := s.NextNLayer()
		own, ownTypes, err := quantmix.Stored(layer, spec.Quant{Stock: stock})
		if err != nil {
			t.Fatal(err)
		}
		head := ownTypes[len(ownTypes)-1]
		model := len(rows)
		rows, types = append(rows, own...), append(types, ownTypes...)
		for _, row := range weights.Joined(layer)[:plan.JoinedModelNorm] { // the embedding and its norms
			typ := []quant.Type{quant.F32}
			if !row.Vector {
				typ = head
			}
			rows, types = append(rows, row), append(types, typ)
		}
		for i := len(rows) - 1; i >= model; i-- { // a tensor that the layer shares with the model is in the file once
			if !strings.HasPrefix(rows[i].GGUF, "blk.") {
				rows, types = slices.Delete(rows, i, i+1), slices.Delete(types, i, i+1)
			}
		}
	}
	for i, row := range rows {
		for l := range row.Layers() {
			f, _ := quant.Lookup(types[i][l])
			tensors++
			elems += row.Elems()
			bytes += float64(row.Elems()) / float64(f.BlockElems) * float64(f.BlockBytes)
		}
	}
	return tensors, elems, bytes
}
