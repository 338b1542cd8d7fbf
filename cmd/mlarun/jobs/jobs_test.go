package jobs

import (
	"reflect"
	"slices"
	"testing"

	"mla/runtime/text/sample"
)

// TestRead: lines take what they leave out from the flags.
func TestRead(t *testing.T) {
	p := sample.Off()
	p.Seed = 7
	list, err := Read("a\r\n\n{\"prompt\": \"b\", \"n\": 3, \"temp\": 0.5, \"seed\": 1, \"stop\": []}\n", new(9), []string{"x"}, p)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if j := list[0]; *j.Prompt != "a" || j.Line != 1 || *j.Max != 9 || !slices.Equal(j.Stop, []string{"x"}) || !reflect.DeepEqual(j.Sampling(p), p) {
		t.Errorf("%+v", j)
	}
	want := p
	want.Temperature, want.Seed = 0.5, 1
	if j := list[1]; *j.Prompt != "b" || j.Line != 3 || *j.Max != 3 || j.Stop == nil || len(j.Stop) > 0 || !reflect.DeepEqual(j.Sampling(p), want) {
		t.Errorf("%+v", j)
	}
}

// FuzzRead wants prompts or an error of any text.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"a\nb", `{"prompt": "a", "n": 3, "temp": 1e-3, "seed": 1, "stop": [""]}`, "{", "\r\n", `{"prompt": "\ud800"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(text, new(-1), nil, sample.Off())
		if err == nil && len(list) == 0 {
			t.Error("neither prompts nor an error")
		}
		last := 0
		for _, j := range list {
			if *j.Prompt == "" || *j.Max < -1 || j.Line <= last {
				t.Errorf("%+v after line %d", j, last)
			}
			last = j.Line
		}
	})
}
