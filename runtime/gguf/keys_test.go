package gguf

import (
	"strings"
	"testing"
)

// with is the small model with one more key, or another value of one.
func with(t *testing.T, key string, v Value) (HParams, error) {
	t.Helper()
	m := smallModel()
	m.set(key, v)
	return ReadHParams(open(t, m.write(t)))
}

// TestKeyRules holds that each key does what its rule says: one that is read is missed
// if it is of no use, an idle one changes nothing, and any other value than the one that
// means nothing is refused, with the reason.
func TestKeyRules(t *testing.T) {
	plain, err := ReadHParams(open(t, smallModel().write(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range keyRules {
		key := rule.name
		if strings.HasSuffix(key, ".") {
			key += "any"
		}
		useless := Strings([]string{"x"})
		h, err := with(t, key, useless)
		switch rule.use {
		case read:
			wantError(t, err, "m.gguf", `"deepseek2.`+key+`"`)
			continue
		case idle:
			if err != nil || h != plain {
				t.Errorf("%s: %v, %+v", key, err, h)
			}
		default:
			wantError(t, err, "m.gguf", `"deepseek2.`+key+`"`, rule.why)
		}
		for _, v := range []Value{Float32(0), Float32(1), Uint32(0), Uint32(1), Bool(false), Bool(true), Float32(0.5), Int32(-1)} {
			h, err := with(t, key, v)
			fine := rule.use == idle || rule.use == unless0 && v.is(0) || rule.use == unless1 && v.is(1)
			if fine && (err != nil || h != plain) {
				t.Errorf("%s = %s: %v, %+v", key, v, err, h)
			}
			if !fine {
				wantError(t, err, `"deepseek2.`+key+`" is `+v.String(), rule.why)
			}
		}
	}
}

// TestUnknownKeys checks that unknown keys of the architecture are refused, because their effect is unknown.
func TestUnknownKeys(t *testing.T) {
	for _, key := range []string{"attention.novelty", "rope.scaling.type.extra", "ss", ""} {
		_, err := with(t, key, Uint32(7))
		wantError(t, err, "m.gguf", `"deepseek2.`+key+`" is 7`, "does not know")
	}
	m := smallModel()
	m.keys["deepseek2"], m.keys["mistral4.attention.novelty"], m.keys["general.novelty"] = Uint32(1), Uint32(1), Uint32(1)
	if _, err := ReadHParams(open(t, m.write(t))); err != nil {
		t.Errorf("keys that are not the architecture's: %v", err)
	}
}

// TestUncovered checks the error for architectures related to the covered ones: it names what is not covered.
func TestUncovered(t *testing.T) {
	for name, has := range uncovered {
		m := smallModel()
		m.keys["general.architecture"] = String(name)
		_, err := ReadHParams(open(t, m.write(t)))
		wantError(t, err, "m.gguf", `"`+name+`"`, has, "deepseek2")
	}
}

func TestValueIs(t *testing.T) {
	for _, c := range []struct {
		v    Value
		x    float64
		want bool
	}{
		{Uint8(0), 0, true}, {Uint64(1 << 63), 0, false}, {Int8(-1), -1, true}, {Int64(1), 1, true}, {Float32(0), 0, true}, {Float64(1), 1, true},
		{Float64(0.5), 0, false}, {Bool(false), 0, true}, {Bool(true), 1, true}, {Bool(true), 0, false}, {String(""), 0, false}, {String("0"), 0, false},
		{Strings(nil), 0, true}, {Strings([]string{"0"}), 0, false},
	} {
		if got := c.v.is(c.x); got != c.want {
			t.Errorf("%s is %g: %v", c.v, c.x, got)
		}
	}
}
