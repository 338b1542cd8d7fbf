package planjson

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// filled is a value of a type in which nothing is zero: every slice has two entries, and
// every interface is each of the parts in turn.
func filled(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, v.Field(i), n)
		}
	case reflect.Slice:
		length := 2
		if v.Type().Elem() == partType {
			length = len(parts)
		}
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			if v.Type().Elem() == partType {
				p := reflect.New(parts[sortedParts()[i]])
				filled(t, p.Elem(), n)
				v.Index(i).Set(p)
				continue
			}
			filled(t, v.Index(i), n)
		}
	case reflect.Interface:
		p := reflect.New(parts[sortedParts()[*n%len(parts)]])
		filled(t, p.Elem(), n)
		v.Set(p)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-*n))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(*n % 256))
		if v.IsZero() {
			v.SetUint(7)
		}
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.String:
		v.SetString("text \"" + strings.Repeat("ä<", *n%5+1))
	default:
		t.Fatalf("a value of type %s", v.Type())
	}
}

// full are bundles in which every field of every type is set.
func full(t *testing.T) []*plan.Bundle {
	var bundles []*plan.Bundle
	n := 0
	filled(t, reflect.ValueOf(&bundles).Elem(), &n)
	return bundles
}

// TestRoundTrip checks that every field of every part is read as it was written.
func TestRoundTrip(t *testing.T) {
	want := full(t)
	text, err := Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("other bundles were read")
	}
	if again, err := Marshal(got); err != nil || string(again) != string(text) {
		t.Errorf("another text: %v", err)
	}
}

// TestParts checks that every type of runtime/plan with the method of a part is known.
func TestParts(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Groups" || f.Recv == nil || len(f.Type.Params.List) > 0 {
				continue
			}
			name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			if name == "Kernel" {
				continue
			}
			if found++; parts[name] == nil {
				t.Errorf("part %s is not known here", name)
			}
		}
	}
	if found != len(parts) {
		t.Errorf("runtime/plan has %d parts, this package knows %d", found, len(parts))
	}
}

// TestExact checks that numbers are exact to the last bit.
func TestExact(t *testing.T) {
	for _, x := range []float64{math.Pi, 1e-300, math.MaxFloat64, math.SmallestNonzeroFloat64, float64(float32(1e-6)), -0.1} {
		text, err := Marshal([]*plan.Bundle{{RopeMScale: x, Counters: math.MaxInt64, Weights: []plan.Weight{{Types: []quant.Type{quant.Q4_K}}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unmarshal(text)
		if err != nil || got[0].RopeMScale != x || got[0].Counters != math.MaxInt64 || got[0].Weights[0].Types[0] != quant.Q4_K {
			t.Errorf("%g: %v %+v", x, err, got)
		}
	}
	if _, err := Marshal([]*plan.Bundle{{RopeMScale: math.Inf(1)}}); err == nil {
		t.Error("an infinite number was written")
	}
}

// TestRefuses checks that text which would not be read exactly as written is an error with the place.
func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "EOF",
		`{}`:                                   "expected a list",
		`[{}] []`:                              "text after the end",
		`[{"name":"x"}]`:                       `[0]: unknown key "name"`,
		`[{"Name":"x","Name":"y"}]`:            `[0]: "Name" is there twice`,
		`[{"Name":3}]`:                         "[0].Name: 3 is no number of type string",
		`[{"Sequences":[{"Head":"3"}]}]`:       "[0].Sequences[0].Head: expected a value of type int",
		`[{"Sequences":[{"Head":1.5}]}]`:       "[0].Sequences[0].Head: 1.5 is no number of type int",
		`[{"Counters":9223372036854775808}]`:   "is no number of type int",
		`[{"Activations":256}]`:                "[0].Activations: 256 is no number of type uint8",
		`[{"Activations":-1}]`:                 "-1 is no number",
		`[{"RopeMScale":1e999}]`:               "1e999 is no number of type float64",
		`[{"RopeMScale":null}]`:                "expected a value of type float64",
		`[{"Kernels":[{"Parts":[{}]}]}]`:       "[0].Kernels[0].Parts[0]: expected a part",
		`[{"Kernels":[{"Parts":[null]}]}]`:     "expected an object",
		`[{"Kernels":[{"Parts":[{"X":{}}]}]}]`: `[0].Kernels[0].Parts[0]: "X" is no part`,
		`[{"Kernels":[{"Parts":[{"AddVec":{},"MatVec":{}}]}]}]`: "one too many",
		`[{"Kernels":[{"Parts":[{"AddVec":{"A":[]}}]}]}]`:       "[0].Kernels[0].Parts[0](AddVec).A: expected an object",
		`[null]`:                "expected an object",
		`[{"Sequences":[{}`:     "EOF",
		`[{"Sequences":[{}}]}]`: "invalid character",
	} {
		if _, err := Unmarshal([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// TestMemory: a text cannot ask for more memory than there may be. An empty weight is
// three bytes of text and two hundred of memory.
func TestMemory(t *testing.T) {
	const most = 1 << 24
	text := `[{"Weights":[{}` + strings.Repeat(`,{}`, 1<<18) + `]}]`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := unmarshal([]byte(text), most)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "the tables are too large") {
		t.Errorf("%v", err)
	}
	// A list that grows leaves its old place behind, and tokens are garbage.
	if n := after.TotalAlloc - before.TotalAlloc; n > 4*most {
		t.Errorf("%d bytes were allocated", n)
	}
	if _, err := unmarshal([]byte(text), 8*most); err != nil {
		t.Error(err)
	}
}

// TestSchema checks that the schema is the same every time, and depends on the parts.
func TestSchema(t *testing.T) {
	one := Schema()
	if one != Schema() || len(one) != 64 {
		t.Errorf("%s, then %s", one, Schema())
	}
	saved := parts["AddVec"]
	defer func() { parts["AddVec"] = saved }()
	parts["AddVec"] = reflect.TypeFor[struct{ A int }]()
	if Schema() == one {
		t.Error("another part, the same schema")
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`[{"Name":"x","Kernels":[{"Parts":[{"AddVec":{"Dim":3}}],"Slots":[{"Name":"x"}]}],"RopeFreqs":[1,0.5]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		bundles, err := Unmarshal(text)
		if err != nil {
			return
		}
		again, err := Marshal(bundles)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unmarshal(again); err != nil || len(got) != len(bundles) {
			t.Fatalf("%v", err)
		}
	})
}
