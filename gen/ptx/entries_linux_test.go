package ptx

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// entry is what the text of a PTX file says about one kernel.
type entry struct {
	params, threads, shared int
	body                    string
}

var (
	entryLine  = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)
	threadLine = regexp.MustCompile(`(?m)^\.maxntid (\d+), 1, 1$`)
	sharedLine = regexp.MustCompile(`(?m)^\s*\.shared \.align \d+ \.b8 \w+\[(\d+)\];$`)
)

// entries cuts PTX at its kernels.
func entries(t *testing.T, text string) map[string]entry {
	t.Helper()
	list := map[string]entry{}
	for _, at := range entryLine.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		body, _, ends := strings.Cut(text[at[0]:], "\n}")
		threads := threadLine.FindStringSubmatch(body)
		if !ends || threads == nil {
			t.Fatalf("entry %s: no end or no .maxntid", name)
		}
		e := entry{params: strings.Count(body, "\t.param .u64 "), body: body}
		e.threads, _ = strconv.Atoi(threads[1])
		for _, m := range sharedLine.FindAllStringSubmatch(body, -1) {
			n, _ := strconv.Atoi(m[1])
			e.shared += n
		}
		list[name] = e
	}
	return list
}

// touches finds accesses to memory that kernels write; wait is EARLIER_DONE.
var (
	touches = regexp.MustCompile(`\b(?:ld\.(?:\w+\.)?global\.[^n]|st\.(?:\w+\.)?global|atom\.)`)
	wait    = "griddepcontrol.wait"
)

// waitsFirst says whether a kernel, which may begin before the one that it depends
// on has ended, waits for that one before it does more than load what is constant.
func waitsFirst(body string) bool {
	before, _, waits := strings.Cut(body, wait)
	return waits && !touches.MatchString(before)
}

// approximate finds instructions that are not IEEE's.
var approximate = regexp.MustCompile(`\.approx|\.ftz|div\.full`)
