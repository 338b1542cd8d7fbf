package grammar

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// runs is a vocabulary whose longest tokens are longer than what states share masks for.
func runs() *Vocabulary {
	var list []string
	for n := 1; n <= 70; n++ {
		list = append(list, strings.Repeat("-", n), strings.Repeat("a", n)+`"`, strings.Repeat("b", n)+`",`)
	}
	return toyVocabulary(list...)
}

// TestSharedMasks: states near a limit on the length differ, whatever grammars before have
// left in the vocabulary.
func TestSharedMasks(t *testing.T) {
	v := runs()
	for _, limit := range []int{64, 40, 15, 16, 17, 18, 33} {
		m := compile(t, fmt.Sprintf("root ::= \"\\\"\" [a-z-]{0,%d} \"\\\",\"", limit), v).NewMatcher()
		if err := m.AcceptText([]byte(`"`)); err != nil {
			t.Fatal(err)
		}
		for at := 0; at <= limit; at++ {
			mask, err := m.Mask()
			if err != nil {
				t.Fatal(err)
			}
			if want := naive(m); !slices.Equal(mask, want) {
				t.Fatalf("limit %d, at %d: a mask is not what single tokens say", limit, at)
			}
			if at < limit {
				if err := m.AcceptText([]byte("b")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSharedWalks: states that are alike for short tokens share one walk, of any grammar.
func TestSharedWalks(t *testing.T) {
	v := runs()
	count := func(limit, texts int) int {
		m := compile(t, fmt.Sprintf("root ::= [a-z-]{0,%d}", limit), v).NewMatcher()
		for range texts {
			if _, err := m.Mask(); err != nil {
				t.Fatal(err)
			}
			if err := m.AcceptText([]byte("b")); err != nil {
				t.Fatal(err)
			}
		}
		return len(v.shared)
	}
	if n := count(1000, 900); n != 1 {
		t.Errorf("%d walks; expected 1, as all states are far from the end", n)
	}
	if n := count(64, 64-shortBytes); n != 1 {
		t.Errorf("%d walks; expected 1, as another grammar has the same states", n)
	}
	if n := count(64, 64); n != 1+shortBytes {
		t.Errorf("%d walks; expected %d, as the last states differ", n, 1+shortBytes)
	}
}

// TestClientsAtOnce checks that texts of several clients have the same masks as one text alone. The clients use two
// grammars with one vocabulary. The race detector runs only this test of the package, because no other one starts
// goroutines.
func TestClientsAtOnce(t *testing.T) {
	grammars := func() (list []*Compiled) {
		v := runs()
		for _, limit := range []int{33, 40} {
			list = append(list, compile(t, fmt.Sprintf("root ::= \"\\\"\" [a-z-]{0,%d} \"\\\",\"", limit), v))
		}
		return list
	}
	masks := func(c *Compiled) (list [][]uint32) {
		m := c.NewMatcher()
		for _, text := range []string{`"`, "b", "-", "b"} {
			mask, err := m.Mask()
			if err == nil {
				err = m.AcceptText([]byte(text))
			}
			if err != nil {
				t.Error(err)
			}
			list = append(list, mask)
		}
		return list
	}
	shared, alone, of := grammars(), grammars(), make([][][]uint32, 4)
	var all sync.WaitGroup
	for i := range of {
		all.Go(func() { of[i] = masks(shared[i%2]) })
	}
	all.Wait()
	for i := range of {
		if !reflect.DeepEqual(of[i], masks(alone[i%2])) {
			t.Errorf("client %d has other masks than one alone", i)
		}
	}
}
