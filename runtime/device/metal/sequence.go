package metal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

const (
	// argsAlign is what offsets of constant arguments are multiples of.
	argsAlign = 256
	// arenaAlign covers the widest load of any kernel.
	arenaAlign = 16
	// maxCommands is how many commands one execution of an ICB can have.
	maxCommands = 16384
	maxBindings = 31
)

// buffer names a buffer of the runner: a layer's cache for SpaceKV, a window or
// copy for SpaceWeight; the other spaces have one buffer, or one per ring slot.
type buffer struct {
	space plan.Space
	index int
}

// binding is what one kernel argument is bound to.
type binding struct {
	buffer buffer
	offset uint64 // below 4 GiB
}

// command is one dispatch with everything resolved.
type command struct {
	function int // index in sequence.functions
	bindings []binding
	groups   int
	threads  int
	barrier  bool // wait for all earlier commands
}

// sequence is a decode sequence, with the sampler behind it, as Metal runs it.
type sequence struct {
	functions []string // the kernels that the file needs, each once
	threads   []int    // threads per threadgroup of each
	needed    int      // functions[needed:] are the sampler's alone
	commands  []command
	head      int // commands[head:decode] compute the logits
	decode    int // commands[decode:] pick a token by them
	bindings  int // the most that a command has
}

// sequencer resolves dispatches.
type sequencer struct {
	*sequence
	model  *device.Model
	layout *layout
	kv     quant.Type
	args   map[string]uint64 // offsets of constants in layout.args
	known  map[string]int    // functions
}

// newSequence resolves a bundle's dispatches and fills l.args.
func newSequence(m *device.Model, cfg device.Config, l *layout) (*sequence, error) {
	b := m.Bundle
	s := &sequencer{&sequence{head: b.Head, decode: len(b.Decode)}, m, l, cfg.KV, map[string]uint64{}, map[string]int{}}
	list := slices.Concat(b.Decode, b.Sample)
	if len(b.Decode) < 1 || len(list) > maxCommands {
		return nil, fmt.Errorf("bundle %s: %d dispatches; expected 1 to %d", b.Name, len(list), maxCommands)
	}
	for i := range list {
		c, err := s.command(&list[i])
		if v := (*device.VariantError)(nil); errors.As(err, &v) {
			return nil, v
		}
		if err != nil {
			return nil, fmt.Errorf("bundle %s, dispatch %d: %w", b.Name, i, err)
		}
		if i < len(b.Decode) {
			s.needed = len(s.functions)
		}
		s.commands = append(s.commands, c)
		s.bindings = max(s.bindings, len(c.bindings))
	}
	return s.sequence, nil
}

func (s *sequencer) command(d *plan.Dispatch) (command, error) {
	if d.Kernel < 0 || d.Kernel >= len(s.model.Bundle.Kernels) {
		return command{}, fmt.Errorf("kernel %d of %d", d.Kernel, len(s.model.Bundle.Kernels))
	}
	k := &s.model.Bundle.Kernels[d.Kernel]
	if len(d.Operands) != len(k.Slots) || len(k.Slots) > maxBindings {
		return command{}, fmt.Errorf("kernel %s: %d operands for %d slots; at most %d", k.Name, len(d.Operands), len(k.Slots), maxBindings)
	}
	v, err := s.model.Variant(d, s.kv)
	if err != nil {
		return command{}, err
	}
	c := command{function: s.function(v.Func, k.Threads), groups: k.Groups(), threads: k.Threads, barrier: d.Barrier}
	if c.groups < 1 || c.threads < 1 || s.threads[c.function] != c.threads {
		return command{}, fmt.Errorf("kernel %s: %d threadgroups of %d threads", k.Name, c.groups, c.threads)
	}
	for i := range k.Slots {
		bound, err := s.bind(d, k, i)
		if err != nil {
			return command{}, fmt.Errorf("kernel %s, layer %d, slot %s: %w", k.Name, d.Layer, k.Slots[i].Name, err)
		}
		c.bindings = append(c.bindings, bound)
	}
	return c, nil
}

// function numbers the kernel functions.
func (s *sequencer) function(name string, threads int) int {
	i, ok := s.known[name]
	if !ok {
		i = len(s.functions)
		s.known[name] = i
		s.functions, s.threads = append(s.functions, name), append(s.threads, threads)
	}
	return i
}

// bind resolves slot i of a dispatch.
func (s *sequencer) bind(d *plan.Dispatch, k *plan.Kernel, i int) (binding, error) {
	op := &d.Operands[i]
	if op.Space != k.Slots[i].Space {
		return binding{}, fmt.Errorf("operand in space %d; expected %d", op.Space, k.Slots[i].Space)
	}
	one := binding{buffer: buffer{space: op.Space}}
	switch op.Space {
	case plan.SpaceWeight:
		w, err := s.model.Lookup(op.Index, d.LayerOf(i))
		if err != nil {
			return binding{}, err
		}
		p := s.layout.places[w]
		return binding{buffer{plan.SpaceWeight, p.buffer}, p.offset}, nil
	case plan.SpaceArena:
		size := s.layout.arena
		if op.Offset < 0 || op.Bytes < 1 || op.Offset > size || op.Bytes > size-op.Offset || op.Offset%arenaAlign != 0 {
			return binding{}, fmt.Errorf("%d bytes at %d do not fit an arena of %d in steps of %d", op.Bytes, op.Offset, size, arenaAlign)
		}
		one.offset = uint64(op.Offset)
		return one, nil
	case plan.SpaceSample:
		size := s.layout.sample
		if op.Offset < 0 || op.Bytes < 1 || op.Offset > size || op.Bytes > size-op.Offset || op.Offset%argsAlign != 0 {
			return binding{}, fmt.Errorf("%d bytes at %d do not fit a sampler's memory of %d in steps of %d", op.Bytes, op.Offset, size, argsAlign)
		}
		one.offset = uint64(op.Offset)
		return one, nil
	case plan.SpaceKV:
		if op.Index < 0 || op.Index >= s.layout.layers {
			return binding{}, fmt.Errorf("cache %d of %d", op.Index, s.layout.layers)
		}
		one.buffer.index = op.Index
		return one, nil
	case plan.SpaceArgs:
		var err error
		one.offset, err = s.constants(d, k)
		return one, err
	case plan.SpaceRope, plan.SpaceStep, plan.SpaceLogits:
		return one, nil
	}
	return binding{}, fmt.Errorf("space %d", op.Space)
}

// constants returns the offset of a dispatch's constants; equal ones are shared.
func (s *sequencer) constants(d *plan.Dispatch, k *plan.Kernel) (uint64, error) {
	var data []byte
	for _, slot := range k.Args {
		if slot < 0 || slot >= len(k.Slots) || d.Operands[slot].Space != plan.SpaceWeight {
			return 0, fmt.Errorf("the batch stride of slot %d, which is no weight", slot)
		}
		w, err := s.model.Lookup(d.Operands[slot].Index, d.LayerOf(slot))
		if err != nil {
			return 0, err
		}
		if w.BatchStride < 0 {
			return 0, fmt.Errorf("tensor %s: entries %d bytes apart", w.Tensor, w.BatchStride)
		}
		data = binary.LittleEndian.AppendUint64(data, uint64(w.BatchStride))
	}
	at, ok := s.args[string(data)]
	if !ok {
		at = uint64(len(s.layout.args))
		s.args[string(data)] = at
		padded := (len(data) + argsAlign - 1) / argsAlign * argsAlign
		s.layout.args = append(s.layout.args, append(data, make([]byte, padded-len(data))...)...)
	}
	return at, nil
}
