package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/gen/msl/text"
)

// Translate turns Metal source into CUDA C++ for the headers in include. Lines
// stay where they are. kernel says what is known of a kernel beside its source; one that it
// does not know, which another bundle has in the same source, is left out.
//
// A kernel becomes an extern "C" function whose n-th parameter is the pointer
// bound to [[buffer(n)]]; positions become local constants. What no kernel ever
// writes is __restrict__, which makes clang load it through the read-only path.
func Translate(source string, kernel func(name string) (k Kernel, known bool)) (string, error) {
	t := &translator{tokens: scan(source), lookup: kernel}
	t.out.WriteString("#include <metal_stdlib>\n#line 1 \"kernels.metal\"\n")
	for t.at < len(t.tokens) && t.err == nil {
		t.token()
	}
	return t.out.String(), t.err
}

// Kernel is what Translate has to know of a kernel.
type Kernel struct {
	Threads int // per threadgroup
	// Resident is how many threadgroups a multiprocessor should be able to hold, 0: any
	// number. The compiler uses the registers that this leaves a thread: more loads are
	// under way at a time.
	Resident int
	// Constant[n] says that no kernel writes what is bound to buffer n. All others
	// may change until GRID_WAIT: a kernel can begin before the one that it
	// depends on has ended.
	Constant []bool
}

type translator struct {
	tokens []text.Token
	at     int // the next token
	depth  int // of braces, but for those of namespaces
	spaces int // namespaces that are open
	lookup func(kernel string) (k Kernel, known bool)
	out    strings.Builder
	err    error
}

// maxBuffer is the highest index of a buffer in Metal.
const maxBuffer = 30

func (t *translator) fail(format string, args ...any) {
	if t.err == nil {
		line := t.tokens[min(t.at, len(t.tokens)-1)].Line
		t.err = fmt.Errorf("kernels.metal:%d: %s", line, fmt.Sprintf(format, args...))
	}
}

// plain are the words that turn into others wherever they stand.
var plain = map[string]string{
	"device": "",
	"thread": "",
	"inline": "METAL_FUNC", // also a function of the device
}

// metalPragma is Metal's name for a pragma that clang has too.
var metalPragma = regexp.MustCompile(`^#pragma METAL fp `)

var (
	vectorType = regexp.MustCompile(`^(?:bool|u?char|u?short|u?int|u?long|half|float)[234]$`)
	halfNumber = regexp.MustCompile(`^[.\d][\w.+-]*[hH]$`)
)

// token translates what begins at the next token.
func (t *translator) token() {
	tok := t.tokens[t.at]
	text, isPlain := plain[tok.Text]
	switch {
	case tok.Blank():
		t.replace(metalPragma.ReplaceAllString(tok.Text, "#pragma clang fp "))
	case tok.Text == "[[" && t.peek(1) == threadsAttribute:
		t.attribute()
	case tok.Text == "kernel":
		t.kernel()
	case tok.Text == "namespace" && t.peek(2) == "{":
		t.namespace()
	case tok.Text == "}" && t.depth == 0 && t.spaces > 0:
		t.spaces--
		t.copy()
	case tok.Text == "threadgroup" && t.declaresMemory():
		t.threadgroupMemory()
	case tok.Text == "threadgroup":
		t.replace("")
	case tok.Text == "constant" && t.depth == 0 && t.startsStatement():
		t.table()
	case tok.Text == "constant":
		t.replace("const")
	case vectorType.MatchString(tok.Text) && t.peek(1) == "(":
		t.replace("make<" + tok.Text + ">")
	case halfNumber.MatchString(tok.Text) && !strings.HasPrefix(tok.Text, "0x"):
		t.replace(tok.Text[:len(tok.Text)-1] + "f16")
	case isPlain:
		t.replace(text)
	default:
		t.depth += strings.Count(tok.Text, "{") - strings.Count(tok.Text, "}")
		t.copy()
	}
}

// copy writes the next token as it is, replace writes another text for it.
func (t *translator) copy() { t.replace(t.tokens[t.at].Text) }

func (t *translator) replace(text string) {
	t.out.WriteString(text)
	t.at++
}

// next is the index of the n-th token that is not blank from i on, i itself
// being the zeroth; len(t.tokens) if there is none.
func (t *translator) next(i, n int) int {
	for ; i < len(t.tokens); i++ {
		if t.tokens[i].Blank() {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return i
}

// peek is the text of the n-th token after the one at hand, "" past the end.
func (t *translator) peek(n int) string { return t.text(t.next(t.at, n)) }

func (t *translator) text(i int) string {
	if i >= len(t.tokens) {
		return ""
	}
	return t.tokens[i].Text
}

// threadsAttribute is Metal's word for what launch_bounds says, which comes from the plan.
const threadsAttribute = "max_total_threads_per_threadgroup"

// attribute leaves [[…]] out.
func (t *translator) attribute() {
	from := t.at
	for t.at < len(t.tokens) && t.tokens[t.at].Text != "]]" {
		t.at++
	}
	t.at = min(t.at+1, len(t.tokens))
	t.lines(from, t.at)
}

// namespace NAME { stays: what is in it is still outside of all functions.
func (t *translator) namespace() {
	for brace := t.next(t.at, 2); t.at <= brace; {
		t.copy()
	}
	t.spaces++
}

// startsStatement says whether a statement or declaration begins at the token at hand.
func (t *translator) startsStatement() bool {
	i := t.at - 1
	for i >= 0 && t.tokens[i].Blank() {
		i--
	}
	return i < 0 || strings.Contains("{};", t.tokens[i].Text)
}

// declaresMemory says whether the statement at hand declares threadgroup memory,
// not a pointer to it.
func (t *translator) declaresMemory() bool {
	if t.depth == 0 || !t.startsStatement() {
		return false
	}
	for i := t.at; i < len(t.tokens) && t.tokens[i].Text != ";"; i++ {
		if text := t.tokens[i].Text; len(text) == 1 && strings.Contains("*&=(", text) {
			return false
		}
	}
	return true
}

// threadgroupMemory: threadgroup T name[N]; becomes shared memory. Sixteen bytes
// are the widest load.
func (t *translator) threadgroupMemory() {
	t.replace("static __attribute__((shared, aligned(16)))")
}

// table: constant T name[N] = {…}; becomes a table in device memory. CUDA's
// constant memory would serve one address at a time, and the lanes of a
// simdgroup look up different ones. A scalar becomes a constant of the compiler.
func (t *translator) table() {
	for i := t.at; i < len(t.tokens) && t.tokens[i].Text != ";" && t.tokens[i].Text != "="; i++ {
		if t.tokens[i].Text == "[" {
			t.replace("static __attribute__((device))")
			return
		}
	}
	t.replace("static constexpr")
}

// lines writes as many line ends as there are in the tokens [from, to).
func (t *translator) lines(from, to int) {
	for _, tok := range t.tokens[from:to] {
		t.out.WriteString(strings.Repeat("\n", strings.Count(tok.Text, "\n")))
	}
}

// number parses a decimal number.
func number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}
