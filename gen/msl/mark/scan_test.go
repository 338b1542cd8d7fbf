package mark

import (
	"slices"
	"testing"
)

// TestScan: white space is left out, and the names of namespaces are known wherever they stand.
func TestScan(t *testing.T) {
	tokens := scan("namespace mla { } using namespace metal; mla::a; b::c; // namespace d\nd")
	var texts []string
	for _, got := range tokens {
		texts = append(texts, got.Text)
		if want := got.Text == "mla" || got.Text == "metal"; got.namespace != want {
			t.Errorf("%q is a namespace: %t", got.Text, got.namespace)
		}
	}
	want := []string{"namespace", "mla", "{", "}", "using", "namespace", "metal", ";", "mla", ":", ":", "a", ";", "b", ":", ":", "c", ";", "// namespace d", "d"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q; expected %q", texts, want)
	}
}
