package bundlefile_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mla/generated"
	"mla/runtime/bind"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/gguf"
	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

var edits = flag.Int("edits", 100, "hostile plans per model in TestHostile")

// hostile are small models with every kind of part, and files that fit them.
var hostile = map[string]string{
	"yoututiny":          "../../testdata/reference/youtu-tiny-F32.gguf",
	"glm47tiny":          "../../testdata/reference/glm47-tiny-Q4_0.gguf",
	"yoututinylastblock": "../../testdata/reference/youtu-tiny-F32.gguf",
}

// TestHostile changes numbers of a plan at random. Most such plans are refused; those that
// are not run on the CPU device, whose loops are made of the plan's numbers, without
// touching what is not theirs: Go would panic.
func TestHostile(t *testing.T) {
	for name, path := range hostile {
		t.Run(name, func(t *testing.T) {
			file, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			text, err := planjson.Marshal([]*plan.Bundle{bundle(name)})
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			for seed := range uint64(*edits) {
				rng := rand.New(rand.NewPCG(seed, 1))
				list, err := planjson.Unmarshal(text)
				if err != nil {
					t.Fatal(err)
				}
				var done []string
				for range 1 + rng.IntN(2) {
					done = append(done, edit(rng, list[0]))
				}
				if verify.Bundle(list[0]) != nil {
					continue
				}
				if replay(t, fmt.Sprint(seed, done), file, list[0]) == nil {
					ran++
				}
			}
			if ran == 0 || ran > *edits*3/4 {
				t.Errorf("%d of %d hostile plans ran", ran, *edits)
			}
		})
	}
}

func bundle(name string) *plan.Bundle {
	all := generated.Bundles()
	return all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })]
}

// replay binds and runs a plan as mlarun does, in this goroutine. A panic fails the test.
func replay(t *testing.T, what string, file *gguf.File, b *plan.Bundle) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v", what, p)
		}
	}()
	if _, err = bind.Choose(file, []*plan.Bundle{b}, bind.Wish{}); err != nil {
		return err
	}
	m, err := bind.Bind(file, b)
	if err != nil {
		return err
	}
	r, err := device.LoadSingle(cpu.New(), m, device.Config{Context: 40, KV: quant.F32, Width: 16, Threads: 1})
	if err != nil {
		return err
	}
	defer r.Close()
	var rows []plan.Row
	for pos, token := range []uint32{3, 40, 200, 7, 9} {
		rows = append(rows, plan.Row{Token: token, Pos: uint32(pos), NKV: uint32(pos) + 1})
	}
	for _, row := range rows[:2] {
		if _, err = r.Replay([]plan.Row{row}, device.All(1)); err != nil {
			return err
		}
	}
	if r.Width() > 1 {
		_, err = r.Replay(rows[2:], device.All(3))
	}
	return err
}

// values are what numbers are changed to, beside their neighbours.
var values = []int64{0, -1, 1, 2, 16, 63, 64, 255, 256, 1 << 16, 1 << 31, 1 << 40, -1 << 62, 1<<63 - 1}

// edit changes one number of a bundle, and says which.
func edit(rng *rand.Rand, b *plan.Bundle) string {
	for {
		if path, ok := editValue(rng, reflect.ValueOf(b).Elem(), ""); ok {
			return path
		}
	}
}

// editValue goes down at random to a number.
func editValue(rng *rand.Rand, v reflect.Value, path string) (string, bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "", false
		}
		if v.Kind() == reflect.Pointer && v.CanSet() && rng.IntN(20) == 0 {
			v.SetZero()
			return path + " = nil", true
		}
		return editValue(rng, v.Elem(), path)
	case reflect.Struct:
		i := rng.IntN(v.NumField())
		return editValue(rng, v.Field(i), path+"."+v.Type().Field(i).Name)
	case reflect.Slice:
		if v.Len() == 0 {
			return "", false
		}
		i := rng.IntN(v.Len())
		switch rng.IntN(30) {
		case 0:
			v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len())))
			return fmt.Sprintf("%s without %d", path, i), true
		case 1:
			v.Index(i).Set(v.Index(rng.IntN(v.Len())))
			return fmt.Sprintf("%s[%d] is another", path, i), true
		}
		return editValue(rng, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	case reflect.Bool:
		v.SetBool(!v.Bool())
		return path + " is not", true
	case reflect.Int, reflect.Int64:
		n := values[rng.IntN(len(values))]
		if rng.IntN(2) == 0 {
			n = v.Int() + []int64{-256, -16, -1, 1, 16, 256}[rng.IntN(6)]
		}
		v.SetInt(n)
		return fmt.Sprintf("%s = %d", path, n), true
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(rng.IntN(40)))
		return fmt.Sprintf("%s = %d", path, v.Uint()), true
	}
	return "", false
}
