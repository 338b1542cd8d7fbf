package pieces

import "testing"

// FuzzCut: sources come from bundle files too, so that no text may do harm. What is cut out
// for a name is cut out of itself.
func FuzzCut(f *testing.F) {
	f.Add("//: using a\nint x;\n//: a if b using c\nvoid a();\n//: c\n", "a")
	f.Add("/* //: a\n\"//\" '\\'' R\"(", "a")
	f.Fuzz(func(t *testing.T, source, name string) {
		s := Parse(source)
		cut, err := s.Cut([]string{name})
		if err != nil {
			return
		}
		if len(cut) > len(source)+1 {
			t.Fatalf("%d bytes of %d", len(cut), len(source))
		}
		if _, err := s.Inlined([]string{name}); err != nil {
			t.Fatal(err)
		}
	})
}
