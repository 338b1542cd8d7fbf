package pieces

import (
	"strings"
	"testing"
)

const source = `header
//: float4
F4
//: load using float4
load(float4)
//: load using half4
load(half4)
//: half4
H4
//:
pragma
//: format
primary
//: format if q4 using word
format<q4>
//: format if q8 using word
format<q8>
//: word HALVES
word
//: q4
q4
//: q8
q8
//: body using format
body
//: kernel_q4 using body q4 load
kernel_q4
//: kernel_q8 using body q8
kernel_q8
//: knows_no_one using stranger
stranger
`

func TestCut(t *testing.T) {
	s := Parse(source)
	for _, tt := range []struct{ names, want string }{
		{"", "header pragma"},
		{"word", "header pragma word"},
		{"HALVES", "header pragma word"},
		{"load", "header F4 load(float4) load(half4) H4 pragma"},
		{"body", "header pragma primary body"},
		{"kernel_q4", "header F4 load(float4) load(half4) H4 pragma primary format<q4> word q4 body kernel_q4"},
		{"kernel_q8", "header pragma primary format<q8> word q8 body kernel_q8"},
		{"format q8", "header pragma primary format<q8> word q8"},
		{"q8 format", "header pragma primary format<q8> word q8"},
		{"q8", "header pragma q8"},
	} {
		got, err := s.Cut(strings.Fields(tt.names))
		if err != nil || strings.Join(strings.Fields(got), " ") != tt.want {
			t.Errorf("%s: %q, %v; expected %q", tt.names, got, err, tt.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	s := Parse(source)
	for names, want := range map[string]string{
		"nothing": "nothing named nothing", "body nothing": "nothing named nothing", "knows_no_one": "nothing named stranger",
		"if": "nothing named if",
	} {
		if _, err := s.Cut(strings.Fields(names)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; expected %q", names, err, want)
		}
		if _, err := s.Inlined(strings.Fields(names)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; expected %q", names, err, want)
		}
	}
}

// TestInlined counts what two kernels share twice, and what belongs to any part not.
func TestInlined(t *testing.T) {
	s := Parse(source)
	shared := len("primary\nword\nbody\n")
	for names, want := range map[string]int{
		"":                    0,
		"q4":                  len("q4\n"),
		"kernel_q8":           shared + len("format<q8>\nq8\nkernel_q8\n"),
		"kernel_q8 kernel_q8": 2 * (shared + len("format<q8>\nq8\nkernel_q8\n")),
		"q4 kernel_q8":        len("q4\n") + shared + len("format<q8>\nq8\nkernel_q8\n"),
	} {
		if got, err := s.Inlined(strings.Fields(names)); err != nil || got != want {
			t.Errorf("%q: %d, %v; expected %d", names, got, err, want)
		}
	}
}

func TestUnmarked(t *testing.T) {
	for text, want := range map[string]string{"": "", "a\nb\n": "a\nb\n", "no end of the line": "no end of the line\n"} {
		if got, err := Parse(text).Cut(nil); err != nil || got != want {
			t.Errorf("%q becomes %q, %v; expected %q", text, got, err, want)
		}
	}
	if _, err := Parse("kernel").Cut([]string{"kernel"}); err == nil {
		t.Error("a source without marks has a kernel")
	}
}

// TestMark wants a line to be read as it was written.
func TestMark(t *testing.T) {
	for _, tt := range []struct {
		mark Mark
		line string
	}{
		{Mark{}, "//:"},
		{Mark{Names: []string{"a", "b"}}, "//: a b"},
		{Mark{Names: []string{"a"}, Using: []string{"c", "d"}}, "//: a using c d"},
		{Mark{Names: []string{"a"}, If: []string{"b"}}, "//: a if b"},
		{Mark{Names: []string{"a"}, If: []string{"b"}, Using: []string{"c"}}, "//: a if b using c"},
	} {
		if got := tt.mark.String(); got != tt.line {
			t.Errorf("%+v is written %q; expected %q", tt.mark, got, tt.line)
		}
		if got, ok := parse(tt.line); !ok || got.String() != tt.line {
			t.Errorf("%q is read as %+v, %t", tt.line, got, ok)
		}
	}
	if _, ok := parse("// : a"); ok {
		t.Error("a comment is taken for a mark")
	}
}
