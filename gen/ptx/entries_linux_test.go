package ptx

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// entry is what the text of a PTX file says about one kernel.
type entry struct {
	params, threads int
	shared, dynamic int // bytes of threadgroup memory: declared with a size, and asked for by a launch
	body            string
}

var (
	entryLine  = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)
	threadLine = regexp.MustCompile(`(?m)^\.maxntid (\d+), 1, 1$`)
	above      = regexp.MustCompile(ptxfile.DynamicMark + `(\d+)\n\.extern \.shared \.align \d+ \.b8 [\w$]+\[\];\n$`)
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
		if m := above.FindStringSubmatch(text[:at[0]]); m != nil {
			e.dynamic, _ = strconv.Atoi(m[1])
		}
		list[name] = e
	}
	return list
}

// touches finds accesses to memory that kernels may write, with the registers of what they
// load; wait is EARLIER_DONE. Addresses are made of parameters by what addressLine finds.
var (
	touches     = regexp.MustCompile(`\b(?:ld\.(?:\w+\.)?global\.(?:[^n]\S*)\s[^[]*\[(%rd\d+)|st\.(?:\w+\.)?global|atom\.)`)
	wait        = "griddepcontrol.wait"
	paramLine   = regexp.MustCompile(`ld\.param\.u64\s+(%rd\d+), \[\w+_param_(\d+)\]`)
	addressLine = regexp.MustCompile(`(?:cvta|add|mad|mov)\.\S+\s+(%rd\d+), ([^;]+);`)
)

// waitsFirst says whether a kernel, which may begin before the one that it depends
// on has ended, waits for that one before it does more than load what is constant,
// block tables, which the host writes between two replays, what experts were selected before that one, and
// the step. A token's step is written by the last kernel of the token before it. The
// kernels that read it ahead, attention and its combine, are not the next after that
// one, and as every kernel waits before it lets the next begin, all but the last
// before a kernel have ended when it begins.
func waitsFirst(k *plan.Kernel, body string) bool {
	before, _, waits := strings.Cut(body, wait)
	slots := slotsOf(before)
	for _, m := range touches.FindAllStringSubmatch(before, -1) {
		slot, known := slots[m[1]]
		if !known || !early(k, slot) {
			return false
		}
	}
	return waits && !strings.Contains(before, "griddepcontrol.launch_dependents")
}

// early says whether a kernel may read a slot before the dispatch before it has ended.
func early(k *plan.Kernel, slot int) bool {
	for _, p := range k.Parts {
		if e, ok := p.(*plan.Experts); ok && e.Early() && (slot == e.Grouping.Starts || slot == e.Grouping.Members) {
			return true // see runtime/plan/verify: they are older
		}
	}
	space := k.Slots[slot].Space
	return space == plan.SpaceRow || space == plan.SpaceWanted || space == plan.SpaceTables || constant[space]
}

// slotsOf follows addresses back to the slots that they are made of.
func slotsOf(body string) map[string]int {
	slots := map[string]int{}
	for _, line := range strings.Split(body, "\n") {
		if m := paramLine.FindStringSubmatch(line); m != nil {
			slots[m[1]], _ = strconv.Atoi(m[2])
		} else if m := addressLine.FindStringSubmatch(line); m != nil {
			for _, operand := range strings.Split(m[2], ", ") {
				if slot, ok := slots[operand]; ok {
					slots[m[1]] = slot
				}
			}
		}
	}
	return slots
}

// approximate finds instructions that are not IEEE's.
var approximate = regexp.MustCompile(`\.approx|\.ftz|div\.full`)
