package check_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/linalg"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

func bundle(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	for _, b := range generated.Bundles() {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("no bundle %s", name)
	return nil
}

func cases(t *testing.T, b *plan.Bundle) []check.Case {
	t.Helper()
	list, err := check.Cases(b)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// idle leaves all memory as it is.
type idle struct{}

func (idle) Launch(*device.Launch) error { return nil }

// TestIdle sees that a launcher which does nothing fails every case: each has a
// result that the reference writes.
func TestIdle(t *testing.T) {
	for _, name := range []string{"yoututiny", "glm47mini", "dsv2litemini"} {
		seen := map[string]bool{}
		list := cases(t, bundle(t, name))
		for i := range list {
			seen[list[i].Variant.Func] = true
			if r := list[i].Check(idle{}); r.Err != nil || r.OK() || r.Problem() == "" {
				t.Errorf("%s: %v, error %g", list[i].Variant.Func, r.Err, r.Error)
			}
		}
		b := bundle(t, name)
		for _, k := range b.Kernels[:len(b.Kernels)-len(b.Pick)] { // the sampler's come last
			for _, v := range k.Variants {
				if !seen[v.Func] {
					t.Errorf("%s has no case", v.Func)
				}
			}
		}
	}
}

// altered runs the reference and then changes what it left.
type altered func(l *device.Launch) error

func (change altered) Launch(l *device.Launch) error {
	if err := (check.Reference{}).Launch(l); err != nil {
		return err
	}
	return change(l)
}

// slot is the buffer of a named slot.
func slot(l *device.Launch, name string) []byte {
	for i := range l.Kernel.Slots {
		if l.Kernel.Slots[i].Name == name {
			return l.Buffers[i]
		}
	}
	return nil
}

// addTo adds to number i of a slot of float32.
func addTo(name string, i int, x float32) altered {
	return func(l *device.Launch) error {
		b := slot(l, name)[4*i:]
		binary.LittleEndian.PutUint32(b, math.Float32bits(math.Float32frombits(binary.LittleEndian.Uint32(b))+x))
		return nil
	}
}

// setByte changes a byte of a slot.
func setByte(name string, at int) altered {
	return func(l *device.Launch) error {
		b := slot(l, name)
		b[(at+len(b))%len(b)] ^= 0x40
		return nil
	}
}

// TestAltered sees which differences from the references are found.
func TestAltered(t *testing.T) {
	for _, tt := range []struct {
		name, function string
		launcher       device.Launcher
		want           string // in Problem; "": none
	}{
		{"the reference", "o_proj_q4_0", check.Reference{}, ""},
		{"another rounding", "o_proj_q4_0", addTo("x_2", 3, 1e-6), ""},
		{"a wrong number", "o_proj_q4_0", addTo("x_2", 3, 1e-4), "x_2: number 3"},
		{"NaN", "o_proj_q4_0", addTo("x_2", 3, float32(math.NaN())), "x_2: number 3 is NaN"},
		{"infinity", "o_proj_q4_0", addTo("x_2", 3, float32(math.Inf(1))), "number 3 is +Inf"},
		{"a written input", "o_proj_q4_0", setByte("attention", 0), "attention: byte 0"},
		{"a written weight", "o_proj_q4_0", setByte("w_o_proj", 5), "w_o_proj: byte 5"},
		{"a written row", "attend_f16", setByte("current", 4), "current: byte 4"},
		{"another cache row", "q_b_store_kv_q4_0_f16", setByte("cache", 0), "cache: number 0"},
		{"another expert", "experts_gate_experts_up_q4_0_q4_0", setByte("routing", 8), "choice 1"},
		{"an empty split", "attend_f16", setByte("attend_out", -1), ""},
		{"the sum of an empty split", "attend_f16", setByte("attend_ml", -1), "attend_ml: number"},
		{"an error", "o_proj_q4_0", altered(func(*device.Launch) error { return errors.New("the GPU is gone") }), "the GPU is gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list := cases(t, bundle(t, "glm47tiny"))
			for i := range list {
				if list[i].Variant.Func != tt.function {
					continue
				}
				r := list[i].Check(tt.launcher)
				if problem := r.Problem(); (problem == "") != r.OK() || (tt.want == "") != r.OK() || !strings.Contains(problem, tt.want) {
					t.Fatalf("ok %t, %q; expected %q", r.OK(), problem, tt.want)
				}
				return
			}
			t.Fatal("no such variant")
		})
	}
}

// TestNotAble tells a kernel that a device is not made for from one that fails.
func TestNotAble(t *testing.T) {
	r := cases(t, bundle(t, "glm47tiny"))[0].Check(altered(func(*device.Launch) error { return fmt.Errorf("too wide: %w", errors.ErrUnsupported) }))
	if r.OK() || !r.NotAble() || r.Problem() != "" {
		t.Errorf("%v, %q", r.Err, r.Problem())
	}
}

// TestUnknown sees that slots which no part uses fail.
func TestUnknown(t *testing.T) {
	b := *bundle(t, "yoututiny")
	k := b.Kernels[0]
	b.Kernels = append([]plan.Kernel{}, b.Kernels...)
	b.Kernels[0].Slots = append(append([]plan.Slot{}, k.Slots...), plan.Slot{Name: "squares", Space: plan.SpaceArena})
	if _, err := check.Cases(&b); err == nil || !strings.Contains(err.Error(), "slot squares") {
		t.Error(err)
	}
}

// TestShrink sees that output embeddings are cut to a size that is quick to check.
func TestShrink(t *testing.T) {
	list := cases(t, bundle(t, "glm47flashapple"))
	for i := range list {
		if list[i].Variant != &list[i].Kernel.Variants[0] {
			continue
		}
		r := list[i].Check(altered(func(l *device.Launch) error {
			for slot, b := range l.Buffers {
				limit := 32 << 20
				if l.Kernel.Slots[slot].Space == plan.SpaceHeads {
					limit = 48 << 20
				}
				if len(b) > limit && l.Kernel.Slots[slot].Stride == 0 { // what each row has of its own is not cut
					t.Errorf("%s: slot %s has %d bytes", list[i].Variant.Func, l.Kernel.Slots[slot].Name, len(b))
				}
			}
			if l.Groups != l.Kernel.Groups() {
				t.Errorf("%s: %d threadgroups of %d", list[i].Variant.Func, l.Groups, l.Kernel.Groups())
			}
			return nil
		}))
		if !r.OK() {
			t.Error(r.Problem())
		}
	}
}

// TestBackends compares the inner loops of this machine with plain Go, on all
// kernels of a bundle.
func TestBackends(t *testing.T) {
	list := cases(t, bundle(t, "youtumini"))
	for i := range list {
		if r := list[i].Check(plainGo{}); !r.OK() {
			t.Error(r.Problem())
		}
	}
}

type plainGo struct{}

func (plainGo) Launch(l *device.Launch) error {
	before := linalg.Backend()
	if err := linalg.SetBackend("go"); err != nil {
		return err
	}
	return errors.Join(check.Reference{}.Launch(l), linalg.SetBackend(before))
}

// TestWorst keeps one result a variant, the worst.
func TestWorst(t *testing.T) {
	var results []check.Result
	list := cases(t, bundle(t, "yoututiny"))
	for i := range list {
		l := device.Launcher(check.Reference{})
		if list[i].Variant.Func == "attend_f16" && list[i].Pos == 16 {
			l = addTo("attend_out", 0, 1)
		}
		results = append(results, list[i].Check(l))
	}
	worst := check.Worst(results)
	var bad []string
	for _, r := range worst {
		if !r.OK() {
			bad = append(bad, r.Case.Variant.Func+" "+r.Measured())
		}
	}
	if len(worst) != 39 || len(bad) != 1 || !strings.HasPrefix(bad[0], "attend_f16 attend_out: ") {
		t.Errorf("%d results, of which bad: %q", len(worst), bad)
	}
}

// TestClass: the kernel of a class of devices is checked with the arguments of the
// dispatch that names another, and is what that class needs of a file.
func TestClass(t *testing.T) {
	b := *bundle(t, "glm47tiny")
	i := slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Name == "attend" })
	own := b.Kernels[i]
	own.Name, own.Class, own.Instead, own.Variants = "own", plan.ClassApple7, i, slices.Clone(own.Variants)
	for j := range own.Variants {
		own.Variants[j].Func += "_own"
	}
	b.Kernels = append(slices.Clone(b.Kernels), own)
	checked := 0
	for _, c := range cases(t, &b) {
		if c.Kernel.Name == "own" {
			if r := c.Check(check.Reference{}); !r.OK() {
				t.Error(r.Problem())
			}
			checked++
		}
	}
	if checked != 2*5 {
		t.Errorf("%d cases of two variants at five positions", checked)
	}
	m := &device.Model{Bundle: &plan.Bundle{Kernels: b.Kernels, Sequences: []plan.Sequence{{Width: 1, Dispatches: []plan.Dispatch{{Kernel: i, Operands: slices.Repeat([]plan.Operand{{Space: plan.SpaceKV}}, len(own.Slots))}}}}}}
	for class, want := range map[string]string{"": "attend_f16", plan.ClassApple7: "attend_f16_own"} {
		used, err := m.Functions(device.Config{KV: quant.F16}, class)
		if err != nil || len(used) != 1 || used[0] != want {
			t.Errorf("%q: %v, %v", class, used, err)
		}
	}
}
