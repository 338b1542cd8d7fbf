package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mla/runtime/text/grammar"
	"mla/tools/tests/processor"
	"mla/tools/tests/race"
)

// compileHeap is how many bytes one compilation may allocate in total.
const compileHeap = 512 << 20

// compileTime and maskTime are the processor times, of all threads, that tests allow. A quiet machine takes a fifth.
var compileTime, maskTime = 500 * time.Millisecond * slower(), 50 * time.Millisecond * slower()

// slower is how many times longer programs take under the race detector.
func slower() time.Duration {
	if race.On {
		return 20
	}
	return 1
}

// hostile are grammars whose work, taken as written, is without bound.
func hostile(t testing.TB) map[string]string {
	t.Helper()
	list := map[string]string{
		"empty text, thrice":     `root ::= ((""{65536}){65536}){65536}`,
		"no times, thrice":       `root ::= (("a"{0}){65536}){65536}`,
		"no times":               `root ::= ("a"{0}){65536}`,
		"empty parentheses":      `root ::= ((){65536}){65536}`,
		"empty, then a":          `root ::= (((""{65536}){65536}){65536} "a"?){65536}`,
		"maybe empty, thrice":    `root ::= (("a"?{65536}){65536}){65536}`,
		"stars":                  `root ::= ((("a"*)*)*{65536})*{65536}`,
		"rules that are empty":   "root ::= ((x{65536}){65536}){65536}\nx ::= \"\"",
		"rules, doubled":         doubled(60),
		"alternatives of empty":  `root ::= (` + strings.Repeat(`""|`, 30000) + `""){65536}`,
		"alternatives of a":      `root ::= (` + strings.Repeat(`"a"|`, 30000) + `""){65536}`,
		"alternatives of maybe":  `root ::= (` + strings.Repeat(`"a"?|`, 30000) + `""){65536}`,
		"optional parts":         `root ::= (` + strings.Repeat(`"a"? `, 30000) + `){65536}`,
		"ranges":                 `root ::= [` + strings.Repeat("a-z", 16000) + `]{65536}`,
		"ranges apart":           `root ::= [` + apart(16000) + `]{65536}`,
		"not ranges apart":       `root ::= [^` + apart(8000) + `]{3000}`,
		"ranges of long letters": `root ::= [` + strings.Repeat("\U00010001-\U0010fffe", 16000) + `]{65536}`,
		"two to the 30":          `root ::= ("a" | "b")* "a" ("a" | "b"){30}`,
		"two to the 30, letters": `root ::= .* [é-ü] .{30}`,
		"two to the 16":          `root ::= ("a" | "b")* "a" ("a" | "b"){16} "c"`,
		"many rules":             manyRules(16000),
		"a chain of rules":       chain(16000, ""),
		"a deep chain of rules":  chain(3000, `"x"`),
		"left recursion, long":   "root ::= r0\n" + strings.TrimPrefix(chain(9000, ""), "root ::= r0\n") + "\n",
		"parentheses":            "root ::= " + strings.Repeat("(", 1100) + `"a"` + strings.Repeat(")", 1100),
		"parentheses, 180":       "root ::= " + strings.Repeat("(", 180) + `"a"` + strings.Repeat("){65536}", 180),
		"one text":               `root ::= "` + strings.Repeat("a", 900000) + `"`,
	}
	files, err := filepath.Glob("testdata/hostile/*.gbnf")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list[filepath.Base(file)] = string(text)
	}
	return list
}

// doubled are rules of which each calls the next one twice.
func doubled(n int) string {
	var b strings.Builder
	b.WriteString("root ::= r0\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d ::= r%d r%d\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "r%d ::= \"a\"?\n", n)
	return b.String()
}

func apart(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(0x4e00 + 2*i))
	}
	return b.String()
}

func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("root ::= r0")
	for i := range n {
		fmt.Fprintf(&b, " | r%d", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "\nr%d ::= \"a\" root | \"%d\"", i, i)
	}
	return b.String()
}

func chain(n int, after string) string {
	var b strings.Builder
	b.WriteString("root ::= r0\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d ::= r%d %s\n", i, i+1, after)
	}
	fmt.Fprintf(&b, "r%d ::= \"a\"", n)
	return b.String()
}

// timed compiles a grammar, within limits.
func timed(t testing.TB, name, source string, v *grammar.Vocabulary) *grammar.Compiled {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processor.Time(t)
	g, err := grammar.ParseGBNF(source)
	var c *grammar.Compiled
	if err == nil {
		c, err = grammar.Compile(t.Context(), g, v)
	}
	took := processor.Time(t) - start
	runtime.ReadMemStats(&after)
	var known *grammar.Error
	if err != nil && !errors.As(err, &known) {
		t.Errorf("%s: %v is no error of a grammar", name, err)
	}
	heap := after.TotalAlloc - before.TotalAlloc
	if took > compileTime || heap > compileHeap {
		t.Errorf("%s: %v, %d MiB (%v)", name, took, heap>>20, err)
	}
	if err != nil {
		return nil
	}
	return c
}

// TestHostileCompile gives compilations work that grows without bound if nothing limits it.
func TestHostileCompile(t *testing.T) {
	v, _ := smallVocabulary()
	for name, source := range hostile(t) {
		timed(t, name, source, v)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		source := random(rng)
		timed(t, fmt.Sprintf("random %d: %s", i, source), source, v)
	}
}

// random is a grammar of about 400 bytes.
func random(rng *rand.Rand) string {
	atoms := []string{`"a"`, `"ab"`, `""`, `[a-z]`, `[]`, `[^"]`, `.`, `"{"`, `r0`, `r1`, `r2`, `[^\x00-\x1f]`}
	times := []string{"", "", "", "*", "+", "?", "{0}", "{2}", "{100}", "{65536}", "{65536,}", "{0,1000}", "{0,65536}", "{1,1}"}
	var expr func(depth int) string
	expr = func(depth int) string {
		if depth == 0 || rng.IntN(4) == 0 {
			return atoms[rng.IntN(len(atoms))] + times[rng.IntN(len(times))]
		}
		join := " "
		if rng.IntN(2) == 0 {
			join = " | "
		}
		var parts []string
		for range 1 + rng.IntN(3) {
			parts = append(parts, expr(depth-1))
		}
		return "(" + strings.Join(parts, join) + ")" + times[rng.IntN(len(times))]
	}
	source := "root ::= " + expr(5)
	for i := range 3 {
		source += fmt.Sprintf("\nr%d ::= [b-y] %s", i, expr(3))
	}
	return source
}

// TestCancelled: a compilation ends when its client leaves.
func TestCancelled(t *testing.T) {
	v, _ := smallVocabulary()
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the client has left")
	cancel(left)
	g, err := grammar.ParseGBNF(`root ::= ("a" | "b")* "a" ("a" | "b"){30}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grammar.Compile(ctx, g, v); !errors.Is(err, left) {
		t.Errorf("%v", err)
	}
}

// smallVocabulary is the bytes.
func smallVocabulary() (*grammar.Vocabulary, int) {
	return grammar.NewVocabulary(257, func(id int32) grammar.Token {
		if id == 256 {
			return grammar.Token{End: true}
		}
		return grammar.Token{Bytes: []byte{byte(id)}}
	}), 256
}

// ambiguous are grammars that can be read in many ways, or whose rules need many steps.
var ambiguous = []string{
	"root ::= \"a\" root x | \"a\" root y | \"\"\nx ::= \"\" | \"x\"\ny ::= \"\" | \"y\"",
	"root ::= \"a\" (root | \"b\" | root root) (root | \"\") | \"\"",
	"root ::= (\"a\" | a b c d)*\na ::= \"a\"*\nb ::= \"a\" a*\nc ::= a \"a\" b?\nd ::= \"a\"",
	"root ::= \"(\" root \")\" | \"a\"",
	"root ::= [a-z ] (root | root root | root root root)? (root | \"\")",
	"root ::= [^<] (root [^a] | root [^b] | root [^c] | \"\")",
	"root ::= x root y | \"\"\nx ::= . | . .\ny ::= . | \"\"",
	"root ::= (a | b | c | d)* \"z\"\na ::= . root? .\nb ::= . root? . .\nc ::= . root? . . .\nd ::= . root?",
	"root ::= (. x)*\nx ::= [a-z]* | [ a-z]{0,40} | . y\ny ::= x root?",
	"root ::= .{0,3000} root? \"x\" | .",
	"root ::= x{0,200}\nx ::= [a-z]{1,200} \" \"? | \" \" x",
	"root ::= " + strings.Repeat("r ( ", 60) + "\"x\"" + strings.Repeat(" | \"y\")", 60) + "\nr ::= [a-z] r? | \" \" r",
}

// TestMaskTime: with a large vocabulary, no mask and no token takes long.
func TestMaskTime(t *testing.T) {
	v, _ := largeVocabulary()
	rng := rand.New(rand.NewPCG(5, 6))
	list := append([]string{grammar.JSON}, ambiguous...)
	for range 20 {
		list = append(list, random(rng))
	}
	for _, source := range list {
		c := timed(t, source, source, v)
		if c == nil {
			continue
		}
		var most time.Duration
		m := c.NewMatcher()
		for range 60 {
			start := processor.Time(t)
			mask, err := m.Mask()
			most = max(most, processor.Time(t)-start)
			var known *grammar.Error
			if err != nil && !errors.As(err, &known) {
				t.Errorf("%s\n%v", source, err)
			}
			if err != nil {
				break
			}
			id := pick(rng, mask)
			if id < 0 {
				break
			}
			start = processor.Time(t)
			if err := m.Accept(id); err != nil {
				break // the end of the text
			}
			most = max(most, processor.Time(t)-start)
		}
		if most > maskTime {
			t.Errorf("%s\na mask took %v", source, most)
		}
	}
}

// pick is one of the tokens of a mask, which ones with letters rather than without.
func pick(rng *rand.Rand, mask []uint32) int32 {
	var ids []int32
	for id := range int32(32 * len(mask)) {
		if grammar.Allows(mask, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return -1
	}
	return ids[rng.IntN(len(ids))]
}
