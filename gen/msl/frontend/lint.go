package frontend

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/gen/msl/text"
)

// maxBuffer is the largest index of a buffer in Metal.
const maxBuffer = 30

// Lint returns violations of the rules of MSL, or of this project's use of it, that the front end accepts:
// double literals, pointers without an address space, infinities, recursion, kernels that call kernels,
// returns from functions with barriers, wrong buffer indices, too many bytes of threadgroup memory, products
// and sums that may be contracted, and names that Metal's language or library uses.
func Lint(source string, threadgroupBytes int) []error {
	l := &linter{tokens: text.Code(source), maxBytes: threadgroupBytes}
	l.contraction(source)
	l.literals()
	l.pointers()
	l.names(source)
	l.functions = l.findFunctions()
	for i := range l.functions {
		f := &l.functions[i]
		l.returns(f)
		if f.kernel {
			l.buffers(f)
			l.threadgroupBytes(f)
		}
	}
	l.calls()
	return l.errs
}

// linter collects the violations in a source.
type linter struct {
	tokens    []text.Token
	functions []function
	errs      []error
	maxBytes  int // of threadgroup memory per kernel
}

func (l *linter) fail(t text.Token, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("line %d: %s", t.Line, fmt.Sprintf(format, args...)))
}

// noContraction forbids the compiler to contract products and sums, from here to the end of the file. Below
// version 3.2 of the language, Metal's compiler knows the pragma only by clang's name.
const noContraction = `
#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif
`

// anyContraction matches any pragma about contraction.
var anyContraction = regexp.MustCompile(`(?m)^\s*#\s*pragma\s.*(?i:contract|math_mode).*$`)

// contraction demands noContraction before all code, and no pragma that revokes it.
func (l *linter) contraction(source string) {
	before, _, found := strings.Cut(source, noContraction)
	if !found || strings.Contains(before, "{") || len(anyContraction.FindAllString(source, -1)) > 2 {
		l.errs = append(l.errs, errors.New("expected #pragma METAL fp contract(off) from version 3.2 on and #pragma clang fp contract(off) below, before the first brace, and no other pragma of their kind"))
	}
}

// banned are words that kernels must not use, with the reason.
var banned = map[string]string{
	"double": "MSL has no double", "INFINITY": "masks are finite (-1e30f)", "HUGE_VALF": "masks are finite (-1e30f)",
	"NAN": "no kernel makes a NaN", "isnan": "unreliable with fast math", "isinf": "unreliable with fast math",
}

func (l *linter) literals() {
	for _, t := range l.tokens {
		if why, ok := banned[t.Text]; ok {
			l.fail(t, "%s: %s", t.Text, why)
		}
		if t.Kind == text.Number && isDouble(t.Text) {
			l.fail(t, "%s is a double; write %sf", t.Text, t.Text)
		}
	}
}

// isDouble reports whether a number is a floating literal without a suffix.
func isDouble(s string) bool {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "0x") {
		return strings.Contains(s, "p") && !strings.HasSuffix(s, "f") && !strings.HasSuffix(s, "h")
	}
	return strings.ContainsAny(s, ".e") && !strings.HasSuffix(s, "f") && !strings.HasSuffix(s, "h")
}

// types are the type names after which * and & are part of a declaration.
var types = words("float half bool char uchar short ushort int uint long ulong void const size_t uint2 uint4 half2 half4 float2 float4 atomic_uint")

var spaces = words("device constant threadgroup thread")

// pointers demands an address space in the declaration of every pointer and reference.
func (l *linter) pointers() {
	known := map[string]bool{}
	for i := 1; i < len(l.tokens); i++ {
		if prev := l.tokens[i-1].Text; prev == "struct" || prev == "typename" || prev == "class" {
			known[l.tokens[i].Text] = true
		}
		if l.tokens[i].Text == ";" && i > 1 && l.declares(i, "typedef") {
			known[l.tokens[i-1].Text] = true
		}
		t := l.tokens[i]
		if t.Text != "*" && t.Text != "&" || !types[l.tokens[i-1].Text] && !known[l.tokens[i-1].Text] {
			continue
		}
		if !l.spaceBefore(i) {
			l.fail(t, "%s %s has no address space", l.tokens[i-1].Text, t.Text)
		}
	}
}

// declares reports whether the statement that ends at token i has the word.
func (l *linter) declares(i int, word string) bool {
	for i--; i > 0 && l.tokens[i].Text != ";" && l.tokens[i].Text != "}"; i-- {
		if l.tokens[i].Text == word {
			return true
		}
	}
	return false
}

// spaceBefore looks for an address space from token i back to where the declaration starts.
func (l *linter) spaceBefore(i int) bool {
	for i--; i >= 0; i-- {
		switch text := l.tokens[i].Text; {
		case spaces[text]:
			return true
		case strings.Contains("(){};,<>=", text):
			return false
		}
	}
	return false
}

// buffers demands a [[buffer(n)]] of its own for every pointer and reference argument.
func (l *linter) buffers(f *function) {
	seen := map[int]bool{}
	for _, p := range f.params {
		n, ok := bufferIndex(p)
		switch {
		case !hasPointer(p):
		case !ok:
			l.fail(p[0], "%s: an argument without [[buffer(n)]]", f.name)
		case n > maxBuffer:
			l.fail(p[0], "%s: buffer %d; expected at most %d", f.name, n, maxBuffer)
		case seen[n]:
			l.fail(p[0], "%s: buffer %d twice", f.name, n)
		}
		seen[n] = ok
	}
}

func hasPointer(p []text.Token) bool {
	for _, t := range p {
		if t.Text == "*" || t.Text == "&" {
			return true
		}
	}
	return false
}

func bufferIndex(p []text.Token) (int, bool) {
	for i := 0; i+2 < len(p); i++ {
		if p[i].Text == "buffer" && p[i+1].Text == "(" {
			n, err := strconv.Atoi(p[i+2].Text)
			return n, err == nil
		}
	}
	return 0, false
}

var elemBytes = map[string]int{"bool": 1, "char": 1, "uchar": 1, "half": 2, "short": 2, "ushort": 2, "float": 4, "int": 4, "uint": 4, "long": 8, "ulong": 8, "float4": 16}

// threadgroupBytes adds up the threadgroup arrays that a kernel declares.
func (l *linter) threadgroupBytes(f *function) {
	total := 0
	for i := f.body; i+5 < f.end; i++ {
		// threadgroup TYPE NAME [ N ]
		t := l.tokens[i : i+6]
		if t[0].Text != "threadgroup" || t[3].Text != "[" {
			continue
		}
		n, err := strconv.Atoi(t[4].Text)
		size, ok := elemBytes[t[1].Text]
		if err != nil || !ok || t[5].Text != "]" {
			l.fail(t[0], "%s: threadgroup memory of unknown size; expected TYPE NAME[NUMBER]", f.name)
			continue
		}
		total += n * size
	}
	if total > l.maxBytes {
		l.fail(l.tokens[f.body], "%s: %d bytes of threadgroup memory; expected at most %d", f.name, total, l.maxBytes)
	}
}

// words returns a set of the words in list.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
