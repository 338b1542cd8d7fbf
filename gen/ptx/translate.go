package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mla/gen/msl/text"
)

// Translate turns Metal source into CUDA C++ for the headers in include. Lines keep their numbers. kernel
// returns facts about a kernel that its source does not have. Kernels that it does not know, which belong to
// another bundle with the same source, are left out.
//
// A kernel becomes an extern "C" function whose n-th parameter is the pointer bound to [[buffer(n)]];
// positions become local constants. Buffers that no kernel writes are __restrict__, so that clang loads from
// them through the read-only path.
func Translate(source string, kernel func(name string) (k Kernel, known bool)) (string, error) {
	t := &translator{tokens: scan(source), lookup: kernel}
	t.out.WriteString("#include <metal_stdlib>\n#line 1 \"kernels.metal\"\n")
	for t.at < len(t.tokens) && t.err == nil {
		t.token()
	}
	return t.out.String(), t.err
}

// Kernel has the facts about a kernel that Translate needs.
type Kernel struct {
	Threads int // per threadgroup
	// Resident is the number of threadgroups that a multiprocessor should be able to hold; 0: any number. The
	// compiler uses all registers that this leaves to a thread, to keep more loads in flight.
	Resident int
	// Constant[n] says that no kernel writes the memory bound to buffer n. Other memory may change until
	// GRID_WAIT, because a kernel can start before the previous one has ended.
	Constant []bool
}

type translator struct {
	tokens []text.Token
	at     int // the next token
	depth  int // of open braces, without those of namespaces
	spaces int // open namespaces
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

// plain has the words that are always replaced by the same word.
var plain = map[string]string{
	"device": "",
	"thread": "",
	"inline": "METAL_FUNC", // the header makes it a __device__ function
}

// metalPragma matches Metal's name for a pragma that clang knows by another name.
var metalPragma = regexp.MustCompile(`^#pragma METAL fp `)

var (
	vectorType = regexp.MustCompile(`^(?:bool|u?char|u?short|u?int|u?long|half|float)[234]$`)
	halfNumber = regexp.MustCompile(`^[.\d][\w.+-]*[hH]$`)
)

// token translates the construct that begins at the next token.
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

// copy writes the next token unchanged.
func (t *translator) copy() { t.replace(t.tokens[t.at].Text) }

// replace writes another text for the next token.
func (t *translator) replace(text string) {
	t.out.WriteString(text)
	t.at++
}

// next returns the index of the n-th token, from i on, that is not blank; token i counts as the zeroth. If
// there is none, it returns len(t.tokens).
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

// peek returns the text of the n-th token after the current one, "" beyond the end.
func (t *translator) peek(n int) string { return t.text(t.next(t.at, n)) }

func (t *translator) text(i int) string {
	if i >= len(t.tokens) {
		return ""
	}
	return t.tokens[i].Text
}

// threadsAttribute is Metal's attribute for the number of threads; the CUDA source has launch_bounds from the
// plan instead.
const threadsAttribute = "max_total_threads_per_threadgroup"

// attribute skips [[…]].
func (t *translator) attribute() {
	from := t.at
	for t.at < len(t.tokens) && t.tokens[t.at].Text != "]]" {
		t.at++
	}
	t.at = min(t.at+1, len(t.tokens))
	t.lines(from, t.at)
}

// namespace copies namespace NAME {. Its content is still outside all functions.
func (t *translator) namespace() {
	for brace := t.next(t.at, 2); t.at <= brace; {
		t.copy()
	}
	t.spaces++
}

// startsStatement reports whether a statement or declaration begins at the current token.
func (t *translator) startsStatement() bool {
	i := t.at - 1
	for i >= 0 && t.tokens[i].Blank() {
		i--
	}
	return i < 0 || strings.Contains("{};", t.tokens[i].Text)
}

// declaresMemory reports whether the current statement declares threadgroup memory, and not a pointer to it.
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

// threadgroupMemory translates threadgroup T name[N]; into shared memory, aligned for loads of 16 bytes.
func (t *translator) threadgroupMemory() {
	t.replace("static __attribute__((shared, aligned(16)))")
}

// table translates constant T name[N] = {…}; into a table in device memory. CUDA's constant memory serves one
// address at a time, but the lanes of a simdgroup look up different ones. A scalar becomes a constexpr.
func (t *translator) table() {
	for i := t.at; i < len(t.tokens) && t.tokens[i].Text != ";" && t.tokens[i].Text != "="; i++ {
		if t.tokens[i].Text == "[" {
			t.replace("static __attribute__((device))")
			return
		}
	}
	t.replace("static constexpr")
}

// lines writes the line ends of the tokens [from, to).
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
