package device

import (
	"errors"
	"fmt"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

const (
	// ConstantsAlign divides the offsets of a command's constants.
	ConstantsAlign = 256
	// arenaAlign covers the widest load of any kernel.
	arenaAlign = 16
)

// Binding is the memory that one slot of a command is bound to, as a place in a space. Only the device knows
// addresses.
type Binding struct {
	Space         plan.Space
	Weight        *Weight // of SpaceWeight
	Index         int     // of SpaceKV: index into the caches
	Offset, Bytes int64   // range in the arena, SpacePick, the counters, the states, or Commands.Constants; elsewhere 0
}

// Command is one dispatch with everything resolved except addresses.
type Command struct {
	Dispatch *plan.Dispatch
	Kernel   *plan.Kernel
	Variant  *plan.Variant
	Groups   int
	Bindings []Binding // one per slot
}

// Recording is a sequence with its dispatches resolved.
type Recording struct {
	Width, Head int // see plan.Sequence
	Commands    []Command
}

// Commands is the resolved dispatches of a bundle that a configuration loads. They are checked against the
// memory that they run on.
type Commands struct {
	Sequences []Recording // by rising width; the first has one row
	Pick      []Command
	Constants []byte // the contents of SpaceArgs
}

// Decode is the sequence of one row.
func (c *Commands) Decode() *Recording { return &c.Sequences[0] }

// For is the narrowest sequence for a number of rows. One must be wide enough.
func (c *Commands) For(rows int) int {
	return slices.IndexFunc(c.Sequences, func(r Recording) bool { return r.Width >= rows })
}

// All lists the commands of all sequences, then those that pick tokens.
func (c *Commands) All() []Command {
	var all []Command
	for _, r := range c.Sequences {
		all = append(all, r.Commands...)
	}
	return slices.Concat(all, c.Pick)
}

// Commands resolves the dispatches of a bundle that cfg loads, for devices of a kernel class (see
// plan.Kernel). It returns a *VariantError if the bundle has no variant for a combination of types.
func (m *Model) Commands(l *Layout, cfg Config, class string) (*Commands, error) {
	r := &resolver{Commands: &Commands{}, model: m, sizes: l.Sizes(), caches: m.Bundle.Model.CacheLayers(), states: m.Bundle.Model.State(), kv: cfg.KV, class: class, known: map[string]int64{}}
	var err error
	for _, q := range m.Sequences(cfg) {
		list, err := r.list(q.Dispatches)
		if err != nil {
			return nil, err
		}
		r.Sequences = append(r.Sequences, Recording{q.Width, q.Head, list})
	}
	if !slices.ContainsFunc(r.Sequences, func(q Recording) bool { return len(q.Commands) > 0 }) {
		return nil, fmt.Errorf("bundle %s has no dispatches", m.Bundle.Name)
	}
	if r.Pick, err = r.list(m.Bundle.Pick); err != nil {
		return nil, err
	}
	return r.Commands, nil
}

// resolver turns dispatches into commands.
type resolver struct {
	*Commands
	model  *Model
	sizes  [plan.Spaces]int64
	caches []int // the layers with a cache, in the order of Caches
	states plan.State
	kv     quant.Type
	class  string
	known  map[string]int64 // offsets of constants, by their content
}

func (r *resolver) list(dispatches []plan.Dispatch) ([]Command, error) {
	var list []Command
	for i := range dispatches {
		c, err := r.command(&dispatches[i])
		if v := (*VariantError)(nil); errors.As(err, &v) {
			return nil, v
		}
		if err != nil {
			return nil, fmt.Errorf("bundle %s, dispatch %d: %w", r.model.Bundle.Name, i, err)
		}
		list = append(list, *c)
	}
	return list, nil
}

func (r *resolver) command(d *plan.Dispatch) (*Command, error) {
	if d.Kernel < 0 || d.Kernel >= len(r.model.Bundle.Kernels) {
		return nil, fmt.Errorf("kernel %d of %d", d.Kernel, len(r.model.Bundle.Kernels))
	}
	k := r.model.Bundle.KernelFor(d.Kernel, r.class)
	if len(d.Operands) != len(k.Slots) {
		return nil, fmt.Errorf("kernel %s: %d operands for %d slots", k.Name, len(d.Operands), len(k.Slots))
	}
	v, err := r.model.variant(k, d, r.kv)
	if err != nil {
		return nil, err
	}
	c := &Command{Dispatch: d, Kernel: k, Variant: v, Groups: k.Groups()}
	if c.Groups < 1 || k.Threads < 1 {
		return nil, fmt.Errorf("kernel %s: %d threadgroups of %d threads", k.Name, c.Groups, k.Threads)
	}
	for i := range k.Slots {
		b, err := r.bind(d, k, i)
		if err != nil {
			return nil, fmt.Errorf("kernel %s, layer %d, slot %s: %w", k.Name, d.Layer, k.Slots[i].Name, err)
		}
		c.Bindings = append(c.Bindings, b)
	}
	return c, nil
}

// bind resolves slot i of a dispatch.
func (r *resolver) bind(d *plan.Dispatch, k *plan.Kernel, i int) (b Binding, err error) {
	op := &d.Operands[i]
	b.Space = op.Space
	if op.Space != k.Slots[i].Space {
		return b, fmt.Errorf("operand in space %d; expected %d", op.Space, k.Slots[i].Space)
	}
	switch {
	case op.Space >= plan.Spaces:
		err = fmt.Errorf("space %d", op.Space)
	case align[op.Space] > 0:
		b.Offset, b.Bytes, err = op.Offset, op.Bytes, within(op, r.sizes[op.Space])
	case op.Space == plan.SpaceWeight:
		b.Weight, err = r.model.Lookup(op.Index, d.LayerOf(i))
	case op.Space == plan.SpaceArgs:
		b.Offset, b.Bytes, err = r.constants(d, k)
	case op.Space == plan.SpaceKV:
		if b.Index = slices.Index(r.caches, op.Index); b.Index < 0 {
			err = fmt.Errorf("the cache of layer %d; %d layers have one", op.Index, len(r.caches))
		}
	case op.Space == plan.SpaceState:
		if b.Offset = r.states.At(op.Index); b.Offset < 0 {
			err = fmt.Errorf("the state of layer %d; %d layers have one", op.Index, len(r.states.Layers))
		}
		b.Bytes = r.sizes[op.Space] - b.Offset
	}
	return b, err
}

// within checks that the byte range of an operand lies in a space of size bytes.
func within(op *plan.Operand, size int64) error {
	step := align[op.Space]
	if op.Offset < 0 || op.Bytes < 1 || op.Offset > size || op.Bytes > size-op.Offset || op.Offset%step != 0 {
		return fmt.Errorf("%d bytes at %d do not fit the memory of the %s of %d in steps of %d", op.Bytes, op.Offset, op.Space, size, step)
	}
	return nil
}

// constants returns the place of a dispatch's constants. Dispatches with equal constants share them.
func (r *resolver) constants(d *plan.Dispatch, k *plan.Kernel) (offset, bytes int64, err error) {
	data, err := Constants(k, func(slot int) (*Weight, error) {
		if slot < 0 || slot >= len(k.Slots) || d.Operands[slot].Space != plan.SpaceWeight {
			return nil, fmt.Errorf("the batch stride of slot %d, which is no weight", slot)
		}
		return r.model.Lookup(d.Operands[slot].Index, d.LayerOf(slot))
	})
	if err != nil {
		return 0, 0, err
	}
	at, ok := r.known[string(data)]
	if !ok {
		at = int64(len(r.Constants))
		r.known[string(data)] = at
		padded := (max(1, len(data)) + ConstantsAlign - 1) / ConstantsAlign * ConstantsAlign
		r.Constants = append(r.Constants, append(data, make([]byte, padded-len(data))...)...)
	}
	return at, int64(len(data)), nil
}
