package ptx

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mla/runtime/plan"
	"mla/runtime/plan/ptxfile"
)

// entry is the declaration of a kernel in a PTX file.
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
// load; wait is GRID_WAIT, launch LAUNCH_DEPENDENTS. Addresses are made of parameters by what addressLine finds.
var (
	touches     = regexp.MustCompile(`\b(?:ld\.(?:\w+\.)?global\.(?:[^n]\S*)\s[^[]*\[(%rd\d+)|st\.(?:\w+\.)?global|atom\.|red\.global)`)
	wait        = "griddepcontrol.wait"
	launch      = "griddepcontrol.launch_dependents"
	labelLine   = regexp.MustCompile(`^(\$\w+):$`)
	branchLine  = regexp.MustCompile(`^(@\S+\s+)?bra(?:\.uni)?\s+(\$\w+);$`)
	returnLine  = regexp.MustCompile(`^(?:@\S+\s+)?ret;$`)
	paramLine   = regexp.MustCompile(`ld\.param\.u64\s+(%rd\d+), \[\w+_param_(\d+)\]`)
	addressLine = regexp.MustCompile(`(?:cvta|add|mad|mov)\.\S+\s+(%rd\d+), ([^;]+);`)
)

// beforeWait are the instructions that a kernel comes to without having waited, on any way through it, in the
// order of the text. ok: there is a wait, and none of these ways ends.
func beforeWait(t *testing.T, body string) (list []string, ok bool) {
	t.Helper()
	_, code, _ := strings.Cut(body, "\n{")
	lines, labels := strings.Split(code, "\n"), map[string]int{}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
		if m := labelLine.FindStringSubmatch(lines[i]); m != nil {
			labels[m[1]] = i
		}
	}
	reached, ok := make([]bool, len(lines)), strings.Contains(code, wait)
	for ways := []int{0}; len(ways) > 0; {
		i := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if i == len(lines) || returnLine.MatchString(lines[i]) {
			ok = false
			continue
		}
		if reached[i] || strings.Contains(lines[i], wait) {
			continue
		}
		reached[i] = true
		always := false
		if m := branchLine.FindStringSubmatch(lines[i]); m != nil {
			to, known := labels[m[2]]
			if !known {
				t.Fatalf("%s: no such label", lines[i])
			}
			ways, always = append(ways, to), m[1] == ""
		} else if strings.Contains(lines[i], "brx") {
			t.Fatalf("%s: a branch to one of several", lines[i])
		}
		if !always {
			ways = append(ways, i+1)
		}
	}
	for i, line := range lines {
		if reached[i] {
			list = append(list, line)
		}
	}
	return list, ok
}

// waitsFirst reports whether a kernel waits for the kernel before it correctly. The kernel may begin before
// that one has ended. Until it waits, it may load only constants, block tables (which the host writes between
// replays), expert selections that an earlier kernel made, and the step. The step of a token is written by
// the last kernel of the token before. The kernels that load it early, attention and its combine, are not the
// first after that kernel. checkEager checks which kernels may let the next one begin before they wait.
func waitsFirst(t *testing.T, k *plan.Kernel, body string) bool {
	t.Helper()
	list, ok := beforeWait(t, body)
	before := strings.Join(list, "\n")
	slots := slotsOf(before)
	for _, m := range touches.FindAllStringSubmatch(before, -1) {
		slot, known := slots[m[1]]
		if !known || !early(k, slot) {
			return false
		}
	}
	return ok
}

// isEager reports whether a kernel lets the next one begin before it waits.
func isEager(t *testing.T, body string) bool {
	t.Helper()
	list, _ := beforeWait(t, body)
	return strings.Contains(strings.Join(list, "\n"), launch)
}

// checkEager checks that a kernel has ended before another one loads its results without waiting. Such
// results are those of the token before and the selections of experts. Once a kernel waits before it lets the
// next one begin, all kernels before it have ended. So the first kernel of a sequence must not be eager,
// unless the host makes its inputs between two replays, and neither must the kernel before experts with
// prefetched weights.
func checkEager(b *plan.Bundle, eager func(kernel int) bool) error {
	for _, q := range b.Sequences {
		for i, d := range q.Dispatches {
			ahead := i+1 < len(q.Dispatches) && slices.ContainsFunc(b.Kernels[q.Dispatches[i+1].Kernel].Parts, func(p plan.Part) bool {
				e, ok := p.(*plan.Experts)
				return ok && e.Early()
			})
			if (i == 0 && q.Input == nil || ahead) && eager(d.Kernel) {
				return fmt.Errorf("sequence of %d rows, dispatch %d: kernel %s lets the next begin before it waits", q.Width, i, b.Kernels[d.Kernel].Name)
			}
		}
	}
	for _, d := range b.Pick {
		if eager(d.Kernel) {
			return fmt.Errorf("kernel %s, which picks tokens, lets the next begin before it waits", b.Kernels[d.Kernel].Name)
		}
	}
	return nil
}

// early reports whether a kernel may read a slot before the dispatch before it has ended.
func early(k *plan.Kernel, slot int) bool {
	for _, p := range k.Parts {
		if e, ok := p.(*plan.Experts); ok && e.Early() && (slot == e.Grouping.Starts || slot == e.Grouping.Members) {
			return true // see runtime/plan/verify: they are older
		}
	}
	space := k.Slots[slot].Space
	if space == plan.SpaceKV && slices.ContainsFunc(k.Parts, func(p plan.Part) bool { _, ok := p.(*plan.Attend); return ok }) {
		return !k.Slots[slot].Write // of rows that are older than the replay: TestEarly in gen/msl
	}
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

// TestWaitsFirst: mistakes in a kernel of two parts, each of which waits.
func TestWaitsFirst(t *testing.T) {
	k := &plan.Kernel{Slots: []plan.Slot{{Space: plan.SpaceRow}, {Space: plan.SpaceArena, Write: true}}}
	const right = `.visible .entry k(
)
{
	ld.param.u64 	%rd1, [k_param_0];
	ld.param.u64 	%rd2, [k_param_1];
	ld.global.u32 	%r1, [%rd1];
	@%p1 bra 	$L__BB0_2;
	griddepcontrol.wait;
	griddepcontrol.launch_dependents;
	bra.uni 	$L__BB0_3;
$L__BB0_2:
	griddepcontrol.wait;
	ld.global.u32 	%r2, [%rd2];
	st.global.u32 	[%rd2], %r1;
$L__BB0_3:
	ret;
`
	if !waitsFirst(t, k, right) {
		t.Error("a kernel that waits in both parts is refused")
	}
	second := "$L__BB0_2:\n\tgriddepcontrol.wait;\n"
	for name, by := range map[string]string{
		"no wait":            "$L__BB0_2:\n",
		"an early store":     "$L__BB0_2:\n\tst.global.u32 \t[%rd2], %r1;\n\tgriddepcontrol.wait;\n",
		"an early load":      "$L__BB0_2:\n\tld.global.u32 \t%r2, [%rd2];\n\tgriddepcontrol.wait;\n",
		"an end in one case": "$L__BB0_2:\n\t@%p2 bra \t$L__BB0_3;\n\tgriddepcontrol.wait;\n",
	} {
		if waitsFirst(t, k, strings.Replace(right, second, by, 1)) {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestEager: which kernels of a sequence may let the next begin before they wait.
func TestEager(t *testing.T) {
	const wait, launch = "\tgriddepcontrol.wait;\n", "\tgriddepcontrol.launch_dependents;\n"
	for _, tt := range []struct {
		body string
		want bool
	}{{launch + wait, true}, {wait + launch, false}, {wait, false}} {
		if got := isEager(t, ".visible .entry k(\n)\n{\n"+tt.body+"\tret;\n"); got != tt.want {
			t.Errorf("%q is eager: %t", tt.body, got)
		}
	}
	b := &plan.Bundle{
		Kernels: []plan.Kernel{{Name: "embed"}, {Name: "mat_vec"}, {Name: "experts", Parts: []plan.Part{&plan.Experts{Persistent: 1, Product: plan.Product{In: plan.Vec{Stride: 8}}}}}},
	}
	for _, tt := range []struct {
		order []int
		right bool
	}{{[]int{0, 1, 1, 0}, true}, {[]int{1, 0}, false}, {[]int{0, 1, 2}, false}, {[]int{0, 1, 0, 2, 1}, true}} {
		b.Sequences = []plan.Sequence{{Width: 1}}
		for _, k := range tt.order {
			b.Sequences[0].Dispatches = append(b.Sequences[0].Dispatches, plan.Dispatch{Kernel: k})
		}
		if err := checkEager(b, func(kernel int) bool { return kernel == 1 }); (err == nil) != tt.right {
			t.Errorf("kernels %v, of which 1 is eager: %v", tt.order, err)
		}
	}
}
