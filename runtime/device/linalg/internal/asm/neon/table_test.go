package neon

import (
	"regexp"
	"strings"
	"testing"
)

// TestTable checks that every instruction of the table is used, and that operands which do not fit an
// instruction are refused.
func TestTable(t *testing.T) {
	assembly, _ := Generate()
	for name, i := range instructions {
		text := strings.ReplaceAll(regexp.QuoteMeta(i.text), "%d", `-?\d+`)
		if !regexp.MustCompile("// " + text + "\n").Match(assembly) {
			t.Errorf("no loop uses %q", name)
		}
	}
	for name, operands := range map[string][]int{
		"ldr q":     {0, 1, 8},            // no multiple of 16
		"ldur q":    {0, 1, 256},          // one too far
		"ushr 16b":  {0, 1, 17},           // no shift of bytes
		"fmla 4s":   {0, 1},               // an operand too few
		"no such":   {0},                  // not there
		"ldp q":     {0, 1, 2, 16 * 1000}, // too far for a pair
		"scvtf fix": {0, 1, 100},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s %v: no panic", name, operands)
				}
			}()
			encode(name, operands...)
		}()
	}
}
