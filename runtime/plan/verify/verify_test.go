package verify_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// TestShipped checks that the compiler's bundles have no errors.
func TestShipped(t *testing.T) {
	for _, b := range generated.Bundles() {
		if err := verify.Bundle(b); err != nil {
			t.Error(err)
		}
	}
}

// copyOf is a bundle of its own, like the compiled one of that name.
func copyOf(t *testing.T, name string) *plan.Bundle {
	t.Helper()
	all := generated.Bundles()
	text, err := planjson.Marshal([]*plan.Bundle{all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })]})
	if err != nil {
		t.Fatal(err)
	}
	list, err := planjson.Unmarshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// small are bundles with every kind of part; those of several rows have groups of experts.
var small = []string{"yoututiny", "glm47tiny", "dsv2litemini"}

// dispatches are those of all sequences.
func dispatches(b *plan.Bundle) [][]plan.Dispatch {
	lists := [][]plan.Dispatch{b.Pick}
	for i := range b.Sequences {
		lists = append(lists, b.Sequences[i].Dispatches)
	}
	return lists
}

// TestBarriers checks that every barrier of the compiler is needed: without it a bundle is refused.
func TestBarriers(t *testing.T) {
	for _, name := range small {
		b, n := copyOf(t, name), 0
		for _, list := range dispatches(b) {
			for i := range list {
				if i == 0 || !list[i].Barrier {
					continue
				}
				list[i].Barrier = false
				if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), "does not wait") {
					t.Errorf("%s, dispatch %d without its barrier: %v", name, i, err)
				}
				list[i].Barrier = true
				n++
			}
		}
		if n < 10 {
			t.Errorf("%s has %d barriers", name, n)
		}
	}
}

// TestOperands checks that every operand of every dispatch is refused outside its memory, or with fewer bytes
// than its kernel reaches.
func TestOperands(t *testing.T) {
	for _, name := range small {
		b := copyOf(t, name)
		for _, list := range dispatches(b) {
			for i := range list {
				for s := range list[i].Operands {
					op := &list[i].Operands[s]
					saved := *op
					for what, change := range edits(op) {
						change(op)
						if err := verify.Bundle(b); err == nil {
							t.Fatalf("%s, dispatch %d, slot %d: %s is accepted: %+v", name, i, s, what, *op)
						}
						*op = saved
					}
				}
			}
		}
	}
}

// edits are wrong changes of an operand.
func edits(op *plan.Operand) map[string]func(*plan.Operand) {
	list := map[string]func(*plan.Operand){
		"another space": func(op *plan.Operand) { op.Space = (op.Space + 1) % (plan.SpacePick + 1) },
		"no space":      func(op *plan.Operand) { op.Space = 99 },
	}
	switch op.Space {
	case plan.SpaceArena, plan.SpacePick, plan.SpaceCounters:
		list["before its memory"] = func(op *plan.Operand) { op.Offset = -256 }
		list["after its memory"] = func(op *plan.Operand) { op.Offset = 1 << 40 }
		list["an offset that overflows"] = func(op *plan.Operand) { op.Offset, op.Bytes = math.MaxInt64-255, 512 }
		list["unaligned"] = func(op *plan.Operand) { op.Offset += 4 }
		list["nothing"] = func(op *plan.Operand) { op.Bytes = 0 }
		list["too little"] = func(op *plan.Operand) { op.Bytes = 1 }
		list["too much"] = func(op *plan.Operand) { op.Bytes = math.MaxInt64 }
		if op.Space == plan.SpaceArena {
			list["half"] = func(op *plan.Operand) { op.Bytes /= 2 }
		}
	case plan.SpaceWeight:
		list["no weight"] = func(op *plan.Operand) { op.Index = 1 << 20 }
		list["a negative weight"] = func(op *plan.Operand) { op.Index = -1 }
	case plan.SpaceKV:
		list["no cache"] = func(op *plan.Operand) { op.Index = 1 << 20 }
		list["a negative cache"] = func(op *plan.Operand) { op.Index = -1 }
	}
	return list
}

// partOf is the first part of a type in a bundle, with its kernel.
func partOf[P plan.Part](b *plan.Bundle) (p P, k *plan.Kernel) {
	for i := range b.Kernels {
		for _, part := range b.Kernels[i].Parts {
			if p, ok := part.(P); ok {
				return p, &b.Kernels[i]
			}
		}
	}
	panic("no such part")
}

// gatingOf is how the first part that chooses experts does so.
func gatingOf(b *plan.Bundle) *plan.Gating {
	for i := range b.Kernels {
		for _, p := range b.Kernels[i].Parts {
			if g := verify.GatingOf(p); g != nil {
				return g
			}
		}
	}
	panic("no such part")
}

// TestRefuses changes one thing each.
func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		bundle string
		change func(b *plan.Bundle)
		want   string
	}{
		{"yoututiny", func(b *plan.Bundle) { b.Name = "a/../b" }, "the name is no identifier"},
		{"yoututiny", func(b *plan.Bundle) { b.Class = "amd" }, `devices of class "amd"`},
		{"yoututiny", func(b *plan.Bundle) { b.Activations = plan.ElemRow }, "activations of type 5"},
		{"yoututiny", func(b *plan.Bundle) { b.Model.VocabSize = 1 << 30 }, "vocab_size is 1073741824"},
		{"yoututiny", func(b *plan.Bundle) { b.Model.NumHiddenLayers = 0 }, "num_hidden_layers is 0"},
		{"yoututiny", func(b *plan.Bundle) { b.Model.MaxPositionEmbeddings = -1 }, "max_position_embeddings is -1"},
		{"yoututiny", func(b *plan.Bundle) { b.Model.VocabSize++ }, "scans 384 logits"},
		{"yoututiny", func(b *plan.Bundle) { b.Model.Temperature.Scale = 0.1 }, "temperature.length is 0"},
		{"yoututiny", func(b *plan.Bundle) { b.RopeFreqs = b.RopeFreqs[1:] }, "rotary frequencies for"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Head = len(b.Decode().Dispatches) + 1 }, "dispatches, the head at"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches, b.Decode().Head = nil, 0 }, "0 dispatches"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().ArenaBytes = 1 << 40 }, "an arena of 1099511627776 bytes"},
		{"yoututiny", func(b *plan.Bundle) { b.MaxBatch = plan.DefaultBatch }, "batches of up to 16 rows; expected 17 to 32, or 0"},
		{"yoututiny", func(b *plan.Bundle) { b.MaxBatch = -1 }, "batches of up to -1 rows"},
		{"youtumini", func(b *plan.Bundle) { b.MaxBatch = 25 }, "batches of up to 25 rows, and no sequence of as many"},
		{"youtumini", func(b *plan.Bundle) { b.MaxBatch = 24 }, "is for 16 rows"},
		{"deepseekv2litenvidia", func(b *plan.Bundle) { b.MaxBatch = 0 }, "is for 32 rows"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.ScanPicks](b); p.MaxBatch = math.MaxInt64 }, "batches of up to 9223372036854775807 rows"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.ScanPicks](b); p.MaxBatch = 17 }, "its parts reach"},
		{"deepseekv2litenvidia", func(b *plan.Bundle) { p, _ := partOf[*plan.PickTokens](b); p.MaxBatch = 0 }, "sampler, batches of up to 32 and 0 rows; expected 32"},
		{"yoututiny", func(b *plan.Bundle) { b.PickBytes += 256 }, "sampler, a memory of"},
		{"yoututiny", func(b *plan.Bundle) { b.Pick = b.Pick[:1] }, "sampler, 1 dispatches"},
		{"yoututiny", func(b *plan.Bundle) { b.Pick[0], b.Pick[1] = b.Pick[1], b.Pick[0] }, "sampler, "},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].Rows = 0 }, "weight 0: "},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].Last = 1 << 40; b.Weights[0].First = 0 }, "weight 0: of layers 0 to"},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].Types = []quant.Type{96} }, "weight 0: unknown type 96"},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].HeadRows, b.Weights[0].RotaryRows = 7, 4 }, "rows rotate"},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].GGUF = strings.Repeat("x", 300) }, "a name of 300 bytes"},
		{"yoututiny", func(b *plan.Bundle) { b.Profiles[0].Types = b.Profiles[0].Types[1:] }, "profile 0: "},
		{"yoututiny", func(b *plan.Bundle) { b.Profiles[0].Types[0] = nil }, "profile 0: 0 types of weight 0"},
		{"yoututiny", func(b *plan.Bundle) { b.Kernels[0].Threads = 2048 }, "2048 threads"},
		{"yoututiny", func(b *plan.Bundle) { b.Kernels[1].Variants[0].Func = b.Kernels[0].Variants[0].Func }, "two variants are "},
		{"yoututiny", func(b *plan.Bundle) { b.Kernels[0].Variants[0].Types = nil }, "types for"},
		{"yoututiny", func(b *plan.Bundle) { b.Kernels[0].Slots[1].Elem = plan.ElemRow }, "cannot serve as"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches[0].Kernel = -1 }, "kernel -1 of"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches[1].Layer = 99 }, "layer 99 of 3"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches[1].Operands = b.Decode().Dispatches[1].Operands[1:] }, "operands for"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.Cols += 32 }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.Rows = math.MaxInt64 }, "a dimension of 9223372036854775807"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.In.Offset = 1 << 62 }, "offset 4611686018427387904"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.In.Offset = 1 << 20 }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.QAbs.Stride += 64 }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { weightIn(b, 1).Ahead = 2 }, "layers 0 to 2 have it"},
		{"yoututiny", func(b *plan.Bundle) { weightIn(b, 1).Ahead = -2 }, "in layer -1; layers 0 to"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches[layerOf(b, 1)].Layer = -1 }, "in layer -1; layers 0 to"},
		{"glm47tiny", func(b *plan.Bundle) { widen(b) }, "bytes of logits; there are"},
		{"yoututiny", func(b *plan.Bundle) {
			p, _ := partOf[*plan.PickTokens](b)
			list := b.Pick[1].Operands
			list[p.Kept].Offset, list[p.KeptIDs].Offset = list[p.KeptIDs].Offset, list[p.Kept].Offset
		}, "expected"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.W = 31 }, "slot 31 of"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Count *= 2 }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Tile = 1 << 20 }, "splits in tiles of 1048576 rows"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Least = 1 << 15 }, "splits of at least 32768 rows"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Least = p.Splits.Tile + 1 }, "expected a multiple"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Least = -p.Splits.Tile }, "splits of at least -"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Cache.MaxPages++ }, "block tables of"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.StoreKV](b); p.PeDim -= 2 }, ""},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.StoreKV](b); p.Rope.Dim -= 2 }, "rope over"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.StoreKV](b); p.Rope.HeadDim-- }, "expected even numbers"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Attend](b); p.Splits.Tile = 0 }, "a dimension of 0"},
		{"yoututiny", func(b *plan.Bundle) { b.Weights[0].Rows++ }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.Gating = &plan.Gating{} }, "a piece that only other products have"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Experts](b); p.Combine = &plan.Combine{} }, "a piece that only other products have"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpertsSum](b); p.Tokens = 8 }, "a piece that only other products have"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpertsSum](b); p.Up = 0 }, "a piece that only other products have"},
		{"glm47tiny", func(b *plan.Bundle) { gatingOf(b).Groups = 3 }, "groups of"},
		{"glm47tiny", func(b *plan.Bundle) { gatingOf(b).Groups, gatingOf(b).KGroups = 2, 0 }, "0 of 2 groups"},
		{"glm47tiny", func(b *plan.Bundle) { gatingOf(b).Experts++ }, ""},
		{"glm47tiny", func(b *plan.Bundle) { gatingOf(b).K++ }, ""},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Embed](b); p.Dim *= 2 }, "its parts reach"},
		{"yoututiny", func(b *plan.Bundle) { p, _ := partOf[*plan.ScanPicks](b); p.Block = 1 }, "1 for each of"},
		{"glm47tiny", func(b *plan.Bundle) {
			p, _ := partOf[*plan.PickTokens](b)
			list := b.Pick[1].Operands
			list[p.Kept].Offset, list[p.Values].Offset = list[p.Values].Offset, list[p.Kept].Offset
		}, "expected"},
		{"glm47tiny", func(b *plan.Bundle) { b.Sequences[1].Head = len(b.Sequences[1].Dispatches) }, "only the head of several rows knows"},
		{"glm47tiny", func(b *plan.Bundle) { _, k := partOf[*plan.GatherVec](b); ofAll(b, k) }, "gathers rows that are not those wanted"},
		{"glm47tiny", func(b *plan.Bundle) { d := b.Sequences[1].Dispatches; ofAll(b, &b.Kernels[d[len(d)-1].Kernel]) }, "logits of rows that may not be wanted"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.GatherVec](b); p.Dim = 1 << 20 }, ""},
		{"youtumini", func(b *plan.Bundle) { wide := &b.Batches()[len(b.Batches())-1]; gathered(b, wide).Bytes -= 16 }, "its parts reach"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.Out.Offset += 16 }, ""},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.QPe.Offset += 4 }, "queries at"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.QNope.Stride += 16 }, "vectors of"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.RowsPerGroup++ }, "queries for"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.RowsPerGroup *= 8 }, "queries for"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.Tile = 24 }, "tiles of 24"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.SplitK = 4 }, "tiles of 16"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.VDim *= 2 }, "results of 128 elements are 64 apart"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.NopeDim -= 4 }, "expected multiples of 8"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.KV.MaxPages++ }, "block tables of"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.AttendHeads](b); p.KV.Slot = p.QPe.Slot }, "cannot serve as expanded heads"},
		{"youtumini", func(b *plan.Bundle) { _, k := partOf[*plan.AttendHeads](b); k.Width = 0 }, ""},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpandHeads](b); p.Heads-- }, "the model has others"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpandHeads](b); p.Keys = !p.Keys }, ""},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpandHeads](b); p.LatDim -= 32 }, "the model has others"},
		{"youtumini", func(b *plan.Bundle) { p, _ := partOf[*plan.ExpandHeads](b); p.Shares = 1 << 20 }, "shares"},
		{"youtumini", func(b *plan.Bundle) { _, k := partOf[*plan.ExpandHeads](b); k.Threads = 256 }, "by 256 threads"},
		{"youtumini", func(b *plan.Bundle) { p, k := partOf[*plan.ExpandHeads](b); k.Slots[p.Out].Write = false }, "cannot serve as expanded heads"},
		{"youtumini", func(b *plan.Bundle) { p, k := partOf[*plan.ExpandHeads](b); k.Slots[p.Out].Elem = plan.ElemF32 }, "in space"},
		{"youtumini", func(b *plan.Bundle) { first(b, plan.SpaceHeads, true).Barrier = false }, "does not wait"},
		{"youtumini", func(b *plan.Bundle) { first(b, plan.SpaceHeads, false).Barrier = false }, "does not wait"},
		{"glm47tiny", func(b *plan.Bundle) { productOf(b).Tokens = 4 }, "of 4 rows at a time in a kernel of 16"},
		{"glm47tiny", func(b *plan.Bundle) { productOf(b).Tokens = 12 }, "tiles of 12 rows"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.MatVec](b); p.Tokens = -8 }, "of -8 rows at a time"},
		{"yoututiny", func(b *plan.Bundle) { b.Decode().Dispatches = append(b.Decode().Dispatches, b.Pick...) }, "only what picks tokens has that memory"},
		{"yoututiny", func(b *plan.Bundle) { rows(b).Write = true }, "slot current is marked as written"},
		{"yoututiny", func(b *plan.Bundle) { p, k := partOf[*plan.StoreKV](b); p.Norm.Weight = slotOf(k, plan.SpaceRope) }, "a table is read as"},
		{"ling3tiny", func(b *plan.Bundle) { classOf(b).Instead = -1 }, "in place of kernel -1"},
		{"ling3tiny", func(b *plan.Bundle) { classOf(b).Instead = 0 }, "other slots or parts than those of kernel 0"},
		{"ling3tiny", func(b *plan.Bundle) { k := classOf(b); k.Slots = k.Slots[1:] }, ""},
		{"ling3tiny", func(b *plan.Bundle) { classOf(b).Parts[0].(*plan.Attend).Splits.Count *= 2 }, "its parts reach"},
		{"glm47tiny", func(b *plan.Bundle) { b.Counters = 0 }, "do not fit memory of 0"},
		{"glm47tiny", func(b *plan.Bundle) { b.Sequences[1].Width = 1 }, "a sequence of 1 rows after one of 1"},
		{"glm47tiny", func(b *plan.Bundle) { b.Sequences[1].Width = 1 << 20 }, "a sequence of 1048576 rows"},
		{"glm47tiny", func(b *plan.Bundle) { b.Sequences[1].Width++ }, "is for 16 rows"},
		{"glm47tiny", func(b *plan.Bundle) { b.Sequences[1].Dispatches, b.Sequences[1].Head = b.Decode().Dispatches, 0 }, "is for 1 rows"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.Experts](b); p.K++ }, ""},
		{"glm47tiny", func(b *plan.Bundle) { b.Model.MoE.NRoutedExperts++ }, "the model has 17"},
		{"glm47tiny", func(b *plan.Bundle) { p, _ := partOf[*plan.RouteBatch](b); p.Gating.Experts, p.Grouping.Experts = 8, 8 }, "the model has 16"},
	} {
		b := copyOf(t, tt.bundle)
		tt.change(b)
		if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "bundle ") {
			t.Errorf("%s: %v; want %q", tt.bundle, err, tt.want)
		}
	}
}

// layerOf is the first dispatch of a layer.
func layerOf(b *plan.Bundle, layer int) int {
	return slices.IndexFunc(b.Decode().Dispatches, func(d plan.Dispatch) bool { return d.Layer == layer })
}

// weightIn is an operand of that dispatch that is a weight which every layer has.
func weightIn(b *plan.Bundle, layer int) *plan.Operand {
	list := b.Decode().Dispatches[layerOf(b, layer)].Operands
	return &list[slices.IndexFunc(list, func(o plan.Operand) bool { return o.Space == plan.SpaceWeight && b.Weights[o.Index].First == 0 })]
}

// widen makes the last matrix write twice as many logits as there are.
func widen(b *plan.Bundle) {
	d := &b.Decode().Dispatches[len(b.Decode().Dispatches)-1]
	p := b.Kernels[d.Kernel].Parts[0].(*plan.MatVec)
	p.Rows *= 2
	b.Weights[d.Operands[p.W].Index].Rows = p.Rows
}

// slotOf is a kernel's slot in a space.
func slotOf(k *plan.Kernel, space plan.Space) int {
	return slices.IndexFunc(k.Slots, func(s plan.Slot) bool { return s.Space == space })
}

// rows is the slot of the first dispatch's row.
func rows(b *plan.Bundle) *plan.Slot {
	k := &b.Kernels[b.Decode().Dispatches[0].Kernel]
	return &k.Slots[slotOf(k, plan.SpaceRow)]
}

// classOf is the kernel of a class of devices.
func classOf(b *plan.Bundle) *plan.Kernel {
	return &b.Kernels[slices.IndexFunc(b.Kernels, func(k plan.Kernel) bool { return k.Class != "" })]
}

// ofAll makes a kernel of the rows that are wanted one of all rows.
func ofAll(b *plan.Bundle, k *plan.Kernel) {
	slot := slotOf(k, plan.SpaceWanted)
	k.Slots[slot].Space = plan.SpaceRow
	for _, d := range b.Sequences[1].Dispatches {
		if &b.Kernels[d.Kernel] == k {
			d.Operands[slot].Space = plan.SpaceRow
		}
	}
}

// gathered is what the head of a sequence begins with moving; all of it is needed.
func gathered(b *plan.Bundle, q *plan.Sequence) *plan.Operand {
	d := &q.Dispatches[q.Head]
	p := b.Kernels[d.Kernel].Parts[0].(*plan.GatherVec)
	op, slot := &d.Operands[p.Vec], &b.Kernels[d.Kernel].Slots[p.Vec]
	size := int64(2)
	if b.Activations == plan.ElemF32 || slot.Elem == plan.ElemF32 {
		size = 4
	}
	op.Bytes = size * int64(slot.Stride*(q.Width-1)+p.Dim)
	return op
}

// productOf is the first product of several rows.
func productOf(b *plan.Bundle) *plan.MatVec {
	for i := range b.Kernels {
		if p, ok := b.Kernels[i].Parts[0].(*plan.MatVec); ok && p.Tokens > 0 {
			return p
		}
	}
	panic("no product")
}

// TestIndices: memory that is used as indices holds what a dispatch of the same sequence
// has selected, and nothing that was written over it.
func TestIndices(t *testing.T) {
	b := copyOf(t, "glm47tiny")
	list := b.Sequences[1].Dispatches
	reader := slices.IndexFunc(list, func(d plan.Dispatch) bool {
		_, ok := b.Kernels[d.Kernel].Parts[0].(*plan.Experts)
		return ok
	})
	experts := b.Kernels[list[reader].Kernel].Parts[0].(*plan.Experts)
	want := func(what string) {
		t.Helper()
		if err := verify.Bundle(b); err == nil || !strings.Contains(err.Error(), "is read as indices, which no dispatch before has left there") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, slot := range []int{experts.Grouping.Starts, experts.Grouping.Members} {
		op := &list[reader].Operands[slot]
		saved := *op
		*op = list[reader].Operands[experts.In.Slot] // activations: large enough, and anything
		want("activations as indices")
		*op = saved
	}
	// The dispatch that selects is left out: its barrier is its follower's.
	selects := slices.IndexFunc(list, func(d plan.Dispatch) bool {
		_, ok := b.Kernels[d.Kernel].Parts[0].(*plan.RouteBatch)
		return ok
	})
	if selects < 0 {
		t.Fatal("nothing selects experts")
	}
	b.Sequences[1].Dispatches = slices.Delete(slices.Clone(list), selects, selects+1)
	b.Sequences[1].Head--
	b.Sequences[1].Dispatches[selects].Barrier = true
	want("indices of nobody")
}

// first is the first dispatch of the widest sequence that writes or reads memory of a space.
func first(b *plan.Bundle, space plan.Space, writes bool) *plan.Dispatch {
	list := b.Batches()[len(b.Batches())-1].Dispatches
	for i := range list {
		for _, s := range b.Kernels[list[i].Kernel].Slots {
			if s.Space == space && s.Write == writes {
				return &list[i]
			}
		}
	}
	return nil
}
