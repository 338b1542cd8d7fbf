package reserved

import "testing"

func TestHas(t *testing.T) {
	for _, c := range []struct {
		list *List
		name string
		want bool
	}{
		{Anywhere(), "kernel", true}, {Anywhere(), "M_PI_F", true}, {Anywhere(), "METAL_FUNC", true}, {Anywhere(), "bias", true},
		{Anywhere(), "biases", false}, {Anywhere(), "M", false}, {Anywhere(), "clamp", false}, {Anywhere(), "", false}, {Anywhere(), "From:", false},
		{Library(), "clamp", true}, {Library(), "rank", true}, {Library(), "simd_sum", true}, {Library(), "half4x4", true},
		{Library(), "rank_of", false}, {Library(), "add_block", false}, {Library(), "*", false}, {Library(), "the", false},
	} {
		if got := c.list.Has(c.name); got != c.want {
			t.Errorf("%q is in the list: %t", c.name, got)
		}
	}
}

// TestDistinct: a name is in one list, and a beginning does not make it needless.
func TestDistinct(t *testing.T) {
	for name := range Library().names {
		if Anywhere().Has(name) {
			t.Errorf("%s is in both lists", name)
		}
	}
	for _, l := range []*List{Anywhere(), Library()} {
		for name := range l.names {
			for _, p := range l.prefixes {
				if len(name) >= len(p) && name[:len(p)] == p {
					t.Errorf("%s is there by %s* already", name, p)
				}
			}
		}
	}
}
