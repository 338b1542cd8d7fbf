package check

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// memory is the memory of one launch, described twice: as a bundle of one dispatch for the CPU device, and as
// one buffer per slot for a Launcher.
type memory struct {
	kernel    *plan.Kernel // the case's kernel, perhaps with fewer rows: see shrink
	arguments *arguments
	types     map[int]quant.Type // types of typed slots
	model     device.Model       // its bundle has one dispatch
	config    device.Config
	live      []plan.Row // rows that are computed; fewer than the kernel's if it computes several
	sessions  int        // the number of sessions among the live rows
	buffers   [][]byte   // by slot; slices of the memory below and of model.Regions

	arena        []byte
	cache        []byte
	heads        []byte // nil: the kernel reads no expanded heads
	states       []byte // nil: the kernel has no states
	counters     []byte
	rope, logits []float32
	tables       *device.Tables

	rng *rand.Rand
}

// newMemory builds the memory of a case. The contents are the same for every call.
func newMemory(c *Case) (*memory, error) {
	k := shrink(c.Kernel, c.Variant)
	a, err := argumentsOf(k)
	if err != nil {
		return nil, err
	}
	hash := fnv.New64a()
	hash.Write([]byte(c.Variant.Func))
	m := &memory{kernel: k, arguments: a, types: map[int]quant.Type{}, rng: rand.New(rand.NewPCG(hash.Sum64(), uint64(c.Pos)))}
	width := max(k.Width, 1)
	context := positions(c.Bundle)
	each := rowsOfSession(k, width, context)
	sessions := (width + each - 1) / each
	m.config = device.Config{Context: context, Pages: sessions * plan.Pages(context), Tables: rowTable + sessions, Width: width, KV: quant.F32, Threads: 1}
	for i, slot := range k.TypedSlots() {
		m.types[slot] = c.Variant.Types[i]
		if k.Slots[slot].Space == plan.SpaceKV {
			m.config.KV = c.Variant.Types[i]
		}
	}
	live := max(min(width, 2), width-1) // the last of several rows is dead
	for i := range live {
		session := i / each
		m.sessions = session + 1
		pos := uint32(max(c.Pos-session-each+1, 0) + i%each) // the rows of a session follow each other
		row := plan.Row{Token: uint32(embedRows-2+i) % embedRows, Pos: pos, NKV: pos + 1, Table: uint32(rowTable + session)}
		if slices.ContainsFunc(k.Slots, func(s plan.Slot) bool { return s.Space == plan.SpaceWanted }) {
			row.Token = uint32(i + width - live) // a position among the wanted rows; the first is left out so that others move there, unless there are only two
		}
		m.live = append(m.live, row)
	}
	m.bundle(c, k)
	if err := m.place(); err != nil {
		return nil, err
	}
	for slot := range k.Slots {
		if err := m.fill(slot); err != nil {
			return nil, fmt.Errorf("kernel %s, slot %s: %w", k.Name, k.Slots[slot].Name, err)
		}
	}
	m.group()
	return m, nil
}

// bundle builds the bundle of one dispatch and one layer. It has a weight for each slot that needs one; these
// weights belong to no layer.
func (m *memory) bundle(c *Case, k *plan.Kernel) {
	b := *c.Bundle
	d := *c.dispatch
	d.Kernel, d.Layer, d.Operands = 0, -1, slices.Clone(d.Operands)
	one := *k
	one.Variants = []plan.Variant{*c.Variant}
	b.Kernels, b.Pick = []plan.Kernel{one}, nil
	b.Sequences = []plan.Sequence{{Width: max(k.Width, 1), Dispatches: []plan.Dispatch{d}, Head: 1}}
	b.Weights = nil
	for i := range d.Operands {
		if op := &d.Operands[i]; op.Space == plan.SpaceWeight {
			row := c.Bundle.Weights[op.Index]
			row.First, row.Last = -1, -1
			op.Index, op.Ahead = len(b.Weights), 0
			b.Weights = append(b.Weights, row)
		}
	}
	if m.arguments.state == nil { // otherwise a slot holds the states of all layers
		b.Model.NumHiddenLayers, b.Model.Hybrid = 1, nil
	}
	for _, p := range k.Parts {
		for _, u := range p.Uses() {
			m.shape(&b, &d.Operands[u.Slot], &u)
		}
	}
	m.model = device.Model{Bundle: &b, Weights: make([][]device.Weight, len(b.Weights))}
}

// shape sets the size of a slot's buffer to the size that the kernel uses.
func (m *memory) shape(b *plan.Bundle, op *plan.Operand, u *plan.Use) {
	switch {
	case u.LooksUp():
		b.Weights[op.Index].Rows, b.Model.VocabSize = embedRows, embedRows
	case u.As == plan.RoleWeight:
		b.Weights[op.Index].Rows = u.Rows
	case u.As == plan.RoleNormWeight:
		b.Weights[op.Index].Cols = u.Len
	case u.Write && op.Space == plan.SpaceLogits && m.kernel.Width == 0: // a kernel of several rows computes itself where each row begins
		b.Model.VocabSize = u.Len
	}
}

// dispatch returns the only dispatch of the bundle.
func (m *memory) dispatch() *plan.Dispatch { return &m.model.Bundle.Sequences[0].Dispatches[0] }

// gap is the number of bytes between two slots in the arena.
const gap = 64

// rowTable is the block table of the first row. The table before it belongs to another session.
const rowTable = 1

// place allocates memory for every slot outside the weights, filled with poison.
func (m *memory) place() error {
	b := m.model.Bundle
	d := m.dispatch()
	var end int64
	for i := range d.Operands {
		if op := &d.Operands[i]; op.Space == plan.SpaceArena {
			op.Offset = end
			end = (op.Offset + op.Bytes + 2*gap - 1) / gap * gap
		}
		if op := &d.Operands[i]; op.Space == plan.SpaceCounters {
			m.counters = aligned(make([]byte, max(int64(len(m.counters)), op.Offset+op.Bytes)))
		}
		if d.Operands[i].Space == plan.SpaceKV {
			d.Operands[i].Index = 0
		}
	}
	b.Sequences[0].ArenaBytes = max(end, 1)
	planes, err := b.Model.CachePlanes(m.config.KV)
	if err != nil {
		return err
	}
	m.arena = poison(int(b.Sequences[0].ArenaBytes))
	m.cache = poison(m.config.Pages * plan.PageRows * planes.RowBytes())
	if n := b.HeadsBytes([]plan.Dispatch{*d}); n > 0 {
		m.heads = poison(m.config.Pages * int(n))
	}
	if s := b.Model.State(); s.Floats() > 0 {
		m.states = poison(m.config.Tables * int(s.Bytes()))
	}
	m.logits = floats(poison(4 * b.Model.VocabSize * plan.WantedRows(m.config.Width, b.BatchRows())))
	m.rope = make([]float32, 2*len(b.RopeFreqs)*m.config.Context)
	device.RopeTable(m.rope, b.RopeFreqs, b.RopeMScale)
	m.tables = device.NewTables(m.config.Tables, b.Model.MaxPages(), m.config.Pages)
	for i := range m.tables.Entries {
		m.tables.Entries[i] = math.MaxUint32 // kernels must not use an entry without a page
	}
	pages := m.pages()
	for i := range m.sessions { // a page that is written to must be at one place
		if _, err := m.tables.Assign(rowTable+i, 0, pages[i*plan.Pages(m.config.Context):][:plan.Pages(m.config.Context)]); err != nil {
			return err
		}
	}
	m.slice()
	return nil
}

// pages returns the pages of the cache in random order.
func (m *memory) pages() []uint32 {
	var list []uint32
	for _, p := range m.rng.Perm(m.config.Pages) {
		list = append(list, uint32(p))
	}
	return list
}

// slice sets the buffers of all slots.
func (m *memory) slice() {
	d := m.dispatch()
	before := m.buffers
	m.buffers = make([][]byte, len(d.Operands))
	all := [plan.Spaces][]byte{
		plan.SpaceArena: m.arena, plan.SpaceCounters: m.counters, plan.SpaceKV: m.cache, plan.SpaceHeads: m.heads, plan.SpaceState: m.states,
		plan.SpaceTables: words(m.tables.Entries...), plan.SpaceRope: bytesOf(m.rope), plan.SpaceLogits: bytesOf(m.logits),
	}
	for i, op := range d.Operands {
		switch mem := all[op.Space]; {
		case mem == nil && before != nil:
			m.buffers[i] = before[i]
		case op.Space == plan.SpaceState:
			m.buffers[i] = mem[m.stateAt(op.Index):]
		case op.Space == plan.SpaceArena || op.Space == plan.SpaceCounters:
			m.buffers[i] = mem[op.Offset : op.Offset+op.Bytes : op.Offset+op.Bytes]
		default:
			m.buffers[i] = mem
		}
	}
}

// clone copies all memory except the weights, which no kernel can write.
func (m *memory) clone() *memory {
	c := *m
	c.arena, c.cache, c.counters = aligned(m.arena), aligned(m.cache), aligned(m.counters)
	if m.heads != nil {
		c.heads = aligned(m.heads)
	}
	if m.states != nil {
		c.states = aligned(m.states)
	}
	c.rope, c.logits = slices.Clone(m.rope), slices.Clone(m.logits)
	c.slice()
	for i := range c.buffers {
		if s := &c.kernel.Slots[i]; s.Elem == plan.ElemRow || s.Space == plan.SpaceArgs || s.Space == plan.SpaceWeight {
			c.buffers[i] = slices.Clone(c.buffers[i])
		}
	}
	return &c
}

// fill writes the contents of a slot.
func (m *memory) fill(slot int) error {
	s := &m.kernel.Slots[slot]
	switch s.Elem {
	case plan.ElemRow:
		rows := make([]plan.Row, m.config.Width)
		copy(rows, m.live)
		for i := len(m.live); i < len(rows) && m.arguments.state != nil; i++ {
			rows[i].Table = m.live[len(m.live)-1].Table // a dead row moves no state on, whoever it is said to be of
		}
		for _, r := range rows {
			m.buffers[slot] = append(m.buffers[slot], words(r.Token, r.Pos, r.NKV, r.Table)...)
		}
		return nil
	case plan.ElemArgs:
		data, err := device.Constants(m.kernel, m.weight)
		m.buffers[slot] = append(m.buffers[slot], data...)
		return err
	}
	use := m.arguments.slots[slot]
	if use.result {
		m.fillStates(slot, use.role)
		return nil
	}
	switch use.role {
	case plan.RoleTable:
		return m.table(slot)
	case plan.RoleWeight:
		_, err := m.weight(slot)
		return err
	case plan.RoleNormWeight:
		return m.vector(slot, 1, 0.2)
	case plan.RoleBias:
		return m.vector(slot, 0, 0.02)
	case plan.RoleAngles, plan.RoleCounters, plan.RoleTables, plan.RoleStarts, plan.RoleMembers:
	case plan.RoleRouting:
		m.eachRow(slot, func(_ int, buf []byte) { m.choose(buf) })
	case plan.RoleScores:
		m.eachRow(slot, func(_ int, buf []byte) { m.scores(buf) })
	case plan.RoleSquares:
		m.squares(slot)
	case plan.RoleUnit, plan.RoleShare:
		m.fillLinear(slot, use.role)
	case plan.RoleSplitML, plan.RoleSplitOut:
		size, err := m.numberBytes(slot)
		if err != nil {
			return err
		}
		m.eachRow(slot, func(row int, buf []byte) { putNumbers(buf, size, m.partials(row, len(buf)/size, use.role)) })
	case plan.RoleVector, plan.RoleGates, plan.RoleCache, plan.RoleHeads, plan.RoleGathered:
		if m.scaled(slot) {
			m.fillScaled(slot)
			return nil
		}
		n, err := m.count(slot)
		if err == nil {
			m.write(slot, m.signal(n))
		}
		return err
	default:
		return fmt.Errorf("role %d in space %d", use.role, s.Space)
	}
	return nil
}

// count returns how many numbers a slot's buffer holds.
func (m *memory) count(slot int) (int, error) {
	size, err := m.numberBytes(slot)
	if err != nil {
		return 0, err
	}
	return len(m.buffers[slot]) / size, nil
}

// numberBytes returns the size of a number in a slot outside the weights.
func (m *memory) numberBytes(slot int) (int, error) {
	elem := m.kernel.Slots[slot].Elem
	if elem == plan.ElemAct {
		elem = m.model.Bundle.Activations
	}
	switch {
	case elem == plan.ElemF32, elem == plan.ElemTyped && m.types[slot] == quant.F32:
		return 4, nil
	case elem == plan.ElemF16, elem == plan.ElemTyped && m.types[slot] == quant.F16:
		return 2, nil
	}
	return 0, fmt.Errorf("element type %d holds no numbers", elem)
}

// write stores numbers from the start of a slot's buffer.
func (m *memory) write(slot int, x []float32) {
	size, _ := m.numberBytes(slot)
	putNumbers(m.buffers[slot], size, x)
}

// putNumbers stores numbers as float32 (size 4) or float16 (size 2).
func putNumbers(buf []byte, size int, x []float32) {
	for i, v := range x {
		if size == 2 {
			binary.LittleEndian.PutUint16(buf[2*i:], quant.FloatToHalf(v))
		} else {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(v))
		}
	}
}

// normal returns n normally distributed numbers around mean.
func (m *memory) normal(n int, mean, deviation float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(mean + deviation*m.rng.NormFloat64())
	}
	return x
}

// poison returns n bytes of NaNs, aligned for any number.
func poison(n int) []byte {
	b := aligned(make([]byte, n))
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// aligned returns a copy of b that begins at a multiple of 8.
func aligned(b []byte) []byte {
	wide := make([]uint64, len(b)/8+1)
	c := unsafe.Slice((*byte)(unsafe.Pointer(&wide[0])), len(b))
	copy(c, b)
	return c
}

// floats views bytes as float32. The bytes must begin at a multiple of 4.
func floats(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}

// halves views bytes as float16. The bytes must begin at a multiple of 2.
func halves(b []byte) []uint16 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*uint16)(unsafe.Pointer(&b[0])), len(b)/2)
}

func bytesOf(f []float32) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f))
}

func words(list ...uint32) []byte {
	var b []byte
	for _, w := range list {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}
