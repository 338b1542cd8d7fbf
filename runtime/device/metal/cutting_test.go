package metal

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// shaped returns a model of a bundle's shapes, whose weights are in inaccessible memory.
func shaped(t *testing.T, b *plan.Bundle) *device.Model {
	t.Helper()
	m := &device.Model{Bundle: b, Mapped: 1}
	at := int64(0)
	for i := range b.Weights {
		w := &b.Weights[i]
		var row []device.Weight
		for l := range max(1, w.Last-w.First) {
			typ := b.Profiles[0].At(i, l)
			f, ok := quant.Lookup(typ)
			if !ok {
				t.Fatalf("type %v", typ)
			}
			entry := int64(w.Cols/f.BlockElems*f.BlockBytes) * int64(w.Rows)
			row = append(row, device.Weight{Tensor: w.GGUF, Offset: at, Bytes: entry * int64(w.Batch), Type: typ, BatchStride: entry})
			at = (at + entry*int64(w.Batch) + device.WeightAlign - 1) / device.WeightAlign * device.WeightAlign
		}
		m.Weights = append(m.Weights, row)
	}
	memory, err := syscall.Mmap(-1, 0, int(at+device.MappedAlign), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	m.Regions = [][]byte{memory[:at]}
	return m
}

// bundleNamed returns the program's bundle with a name.
func bundleNamed(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	all := generated.Bundles()
	i := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("no bundle %s", name)
	}
	return all[i]
}

// prompter runs units of a prompt in one session, on a GPU that is only a model of time.
type prompter struct {
	*testing.T
	*sequence
	pace   pace
	truth  pace
	tables *device.Tables
}

func newPrompter(t *testing.T, bundle, gpu string, context int, slower float64) *prompter {
	t.Helper()
	m := shaped(t, bundleNamed(t, bundle))
	cfg := device.Config{Context: context, KV: quant.F16, Width: m.Bundle.Width()}
	l, err := newLayout(m, cfg, maxWindow)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSequence(m, cfg, l, "")
	if err != nil {
		t.Fatal(err)
	}
	p := &prompter{T: t, sequence: s, pace: newPace(gpu, m.Bundle, fullBudget), truth: newPace(gpu, m.Bundle, fullBudget), tables: l.NewTables()}
	p.truth.slower = slower
	pages := make([]uint32, plan.Pages(context))
	for i := range pages {
		pages[i] = uint32(i)
	}
	if _, err := p.tables.Assign(0, 0, pages); err != nil {
		t.Fatal(err)
	}
	return p
}

// prompt runs rows from a depth on, and returns how many pieces that took, how many of which
// are slices, the longest, and the longest dispatch.
func (p *prompter) prompt(depth, rows int) (pieces, slices int, longest, dispatch time.Duration) {
	q := p.replays[len(p.replays)-1]
	for pos := depth; pos < depth+rows; pos += q.width {
		var list []plan.Row
		for i := range min(q.width, depth+rows-pos) {
			list = append(list, plan.Row{Pos: uint32(pos + i), NKV: uint32(pos + i + 1)})
		}
		c := newCutting(p.sequence, &p.pace, list, q.width, p.tables, []run{{q.from, q.head}, {q.head, q.to}})
		covered := newCoverage(c)
		for piece, ok := c.next(); ok; piece, ok = c.next() {
			took := time.Duration(0)
			if piece.slice != nil {
				l := device.LoadOf(piece.slice.rows)
				took = p.truth.of(&p.commands[piece.runs[0].from], l)
				slices, dispatch = slices+1, max(dispatch, took)
			} else {
				for _, r := range piece.runs {
					for i := r.from; i < r.to; i++ {
						one := p.truth.of(&p.commands[i], c.load)
						took, dispatch = took+one, max(dispatch, one)
					}
				}
			}
			covered.add(p.T, piece)
			p.pace.measured(piece.predicted, took)
			pieces, longest = pieces+1, max(longest, took)
		}
		covered.check(p.T, c, run{q.from, q.to})
	}
	return pieces, slices, longest, dispatch
}

// coverage counts what pieces run.
type coverage struct {
	rows     []plan.Row
	commands map[int]int
	sliced   map[int]map[part]int // of a command
}

// part is a row of the unit, or a page.
type part struct {
	page bool
	n    uint32
	nkv  uint32 // of a row
}

func newCoverage(c *cutting) *coverage {
	return &coverage{c.rows, map[int]int{}, map[int]map[part]int{}}
}

func (v *coverage) add(t *testing.T, p piece) {
	if p.slice == nil {
		for _, r := range p.runs {
			for i := r.from; i < r.to; i++ {
				v.commands[i]++
			}
		}
		return
	}
	i := p.runs[0].from
	if len(p.runs) != 1 || p.runs[0].to != i+1 {
		t.Fatalf("a slice of %v", p.runs)
	}
	if v.sliced[i] == nil {
		v.sliced[i], v.commands[i] = map[part]int{}, 1
	}
	for n, r := range p.slice.rows {
		switch {
		case p.slice.pages == nil && r.NKV > 0:
			v.sliced[i][part{n: uint32(n), nkv: r.NKV}]++
		case p.slice.pages != nil && int(r.NKV) > len(p.slice.pages)*plan.PageRows, p.slice.pages != nil && int(r.NKV) <= (len(p.slice.pages)-1)*plan.PageRows:
			t.Errorf("%d rows of %d pages", r.NKV, len(p.slice.pages))
		}
	}
	for _, page := range p.slice.pages {
		v.sliced[i][part{page: true, n: page}]++
	}
}

// check wants each command once, each of its slices' rows or pages once, and none left out.
func (v *coverage) check(t *testing.T, c *cutting, all run) {
	t.Helper()
	for i := all.from; i < all.to; i++ {
		if v.commands[i] != 1 {
			t.Errorf("command %d of %v is run %d times", i, all, v.commands[i])
		}
	}
	if len(v.commands) != all.to-all.from {
		t.Errorf("%d commands of %v", len(v.commands), all)
	}
	for i, parts := range v.sliced {
		want := plan.Pages(int(v.rows[len(v.rows)-1].NKV))
		if _, ok := c.commands[i].Kernel.Parts[0].(*plan.AttendHeads); ok {
			want = len(v.rows)
			for n, r := range v.rows {
				if parts[part{n: uint32(n), nkv: r.NKV}] != 1 {
					t.Errorf("row %d of command %d", n, i)
				}
			}
		}
		if len(parts) != want {
			t.Errorf("command %d: slices have %d of %d", i, len(parts), want)
		}
		for what, n := range parts {
			if n != 1 {
				t.Errorf("command %d: %+v %d times", i, what, n)
			}
		}
	}
}

// bufferLimit and dispatchLimit are the simulator's limits, METALSIM_BUFFER_MS and METALSIM_DISPATCH_MS.
const bufferLimit, dispatchLimit = 400 * time.Millisecond, 200 * time.Millisecond

// TestLongPrompts checks that prompts of 4,096 tokens stay within the simulator's limits by the model of
// time, at depth 0 and after 32,768 tokens, on GPUs as fast as predicted and on slower ones.
func TestLongPrompts(t *testing.T) {
	bundles := []string{"glm47flashapple"}
	if deep.On {
		bundles = append(bundles, "glm47flashf16apple", "deepseekv2liteapple", "youtu2bapple")
	}
	for _, bundle := range bundles {
		for gpu, slower := range map[string]float64{"Apple M1": 2, "Apple M3 Pro": 1, "Apple M4 Max": 0.7, "Apple M2 Ultra": 3} {
			t.Run(fmt.Sprint(bundle, " ", gpu), func(t *testing.T) {
				p := newPrompter(t, bundle, gpu, 40_960, slower)
				shallow, _, longest, dispatch := p.prompt(0, 4096)
				deep, slices, longestDeep, dispatchDeep := p.prompt(32_768, 4096)
				if longest = max(longest, longestDeep); longest > bufferLimit || max(dispatch, dispatchDeep) > dispatchLimit {
					t.Errorf("a piece takes %v, a dispatch %v and %v; the limits are %v and %v", longest, dispatch, dispatchDeep, bufferLimit, dispatchLimit)
				}
				if deep < 2*shallow || slices == 0 && gpu != "Apple M4 Max" && gpu != "Apple M2 Ultra" {
					t.Errorf("%d pieces at depth 0, %d after 32,768 tokens, of which %d are slices; expected several times as many, and some", shallow, deep, slices)
				}
			})
		}
	}
}

// TestPace checks how measured times change the pace: a slower time counts at once, a faster one by half, and
// a short one not at all.
func TestPace(t *testing.T) {
	p := newPace("Apple M3", &plan.Bundle{}, fullBudget)
	if p.known || p.buffer() != 50*time.Millisecond {
		t.Errorf("%+v", p)
	}
	p.measured(time.Millisecond, time.Millisecond)
	if p.known {
		t.Error("a millisecond tells nothing")
	}
	for _, tt := range []struct{ predicted, took, slower float64 }{{10, 40, 4}, {10, 5, 3}, {10, 10, 3}, {10, 100000, 1000}} {
		p.measured(seconds(tt.predicted/1e3), seconds(tt.took/1e3))
		if p.slower != tt.slower || !p.known || p.buffer() != fullBudget || p.dispatch() != 50*time.Millisecond {
			t.Errorf("%+v: %+v", tt, p)
		}
	}
	for range 20 {
		p.halve()
	}
	if p.budget != leastBudget {
		t.Errorf("a budget of %v", p.budget)
	}
}
