package metal

import (
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/plan"
)

const (
	// maxCommands is the most commands of one execution of an ICB.
	maxCommands = 16384
	// maxBindings is the most buffers of a kernel.
	maxBindings = 31
)

// command is a resolved dispatch with the index of its function and its cost.
type command struct {
	device.Command
	function int // index in sequence.functions
	work     device.Work
}

// sequence is all commands in the order in which Metal holds them: those of one row, those that pick tokens,
// and those of several rows.
type sequence struct {
	width     int            // rows of the widest replay
	known     map[string]int // indices of functions, by name
	functions []string       // the kernels that the file needs, each once
	threads   []int          // threads per threadgroup, by function
	needed    int            // functions[needed:] are only for picking tokens
	commands  []command
	replays   []replayed // by rising width; the first has one row
	picks     run        // the commands that pick tokens, right after those of one row
	bindings  int        // the most buffers of a command
	work      func(*device.Command) device.Work
}

// constants is the offset of the command's constants.
func (c *command) constants() int64 {
	i := slices.IndexFunc(c.Bindings, func(b device.Binding) bool { return b.Space == plan.SpaceArgs })
	return c.Bindings[i].Offset
}

// replayed is the commands of one plan.Sequence: those in [head, to) compute logits.
type replayed struct{ width, from, head, to int }

// newSequence resolves a bundle's dispatches for devices of a kernel class, and fills l.constants.
func newSequence(m *device.Model, cfg device.Config, l *layout, class string) (*sequence, error) {
	b := m.Bundle
	n := len(b.Pick)
	for _, q := range m.Sequences(cfg) {
		n += len(q.Dispatches)
	}
	if n > maxCommands {
		return nil, fmt.Errorf("bundle %s: %d dispatches; expected at most %d", b.Name, n, maxCommands)
	}
	resolved, err := m.Commands(l.Layout, cfg, class)
	if err != nil {
		return nil, err
	}
	l.constants = resolved.Constants
	s := &sequence{width: l.Width, work: func(c *device.Command) device.Work { return m.Work(c, cfg.KV) }}
	if err := s.number(resolved); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
	}
	for i, q := range resolved.Sequences {
		from := len(s.commands)
		s.append(q.Commands)
		s.replays = append(s.replays, replayed{q.Width, from, from + q.Head, len(s.commands)})
		if i == 0 {
			s.picks.from = len(s.commands)
			s.append(resolved.Pick)
			s.picks.to = len(s.commands)
		}
	}
	return s, nil
}

// number assigns indices to the functions; those that only pick tokens come last.
func (s *sequence) number(c *device.Commands) error {
	s.known = map[string]int{}
	for _, q := range c.Sequences {
		if err := s.numberAll(q.Commands); err != nil {
			return err
		}
	}
	s.needed = len(s.functions)
	return s.numberAll(c.Pick)
}

func (s *sequence) numberAll(list []device.Command) error {
	for i := range list {
		if err := s.function(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// append adds commands whose functions have indices.
func (s *sequence) append(list []device.Command) {
	for _, c := range list {
		s.commands = append(s.commands, command{c, s.known[c.Variant.Func], s.work(&c)})
		s.bindings = max(s.bindings, len(c.Bindings))
	}
}

// withoutSampler removes the commands that pick tokens.
func (s *sequence) withoutSampler() {
	n := s.picks.to - s.picks.from
	s.commands = slices.Delete(s.commands, s.picks.from, s.picks.to)
	for i := range s.replays[1:] {
		q := &s.replays[1+i]
		q.from, q.head, q.to = q.from-n, q.head-n, q.to-n
	}
	s.functions, s.threads = s.functions[:s.needed], s.threads[:s.needed]
	s.picks = run{}
}

// step is the runs of a sequence and of the commands that pick tokens. Adjacent runs are merged, which is
// cheaper for the GPU.
func (s *sequence) step(q replayed) []run {
	if q.to == s.picks.from {
		return []run{{q.from, s.picks.to}}
	}
	return []run{{q.from, q.to}, s.picks}
}

// canSpare says whether only functions that pick tokens have failed.
func (s *sequence) canSpare(failed kernelsError) bool {
	for _, f := range s.functions[:s.needed] {
		if failed.has(f) {
			return false
		}
	}
	return s.needed < len(s.functions)
}

// narrower is the width of the widest sequence such that no kernel of it, or of a narrower one, has failed;
// 0: there is none.
func (s *sequence) narrower(failed kernelsError) (width int) {
	for _, q := range s.replays {
		for i := q.from; i < q.to; i++ {
			if failed.has(s.functions[s.commands[i].function]) {
				return width
			}
		}
		width = q.width
	}
	return width
}

// function assigns an index to the function of a command.
func (s *sequence) function(c *device.Command) error {
	k := c.Kernel
	if len(k.Slots) > maxBindings {
		return fmt.Errorf("kernel %s: %d slots; expected at most %d", k.Name, len(k.Slots), maxBindings)
	}
	i, ok := s.known[c.Variant.Func]
	if !ok {
		i = len(s.functions)
		s.known[c.Variant.Func] = i
		s.functions, s.threads = append(s.functions, c.Variant.Func), append(s.threads, k.Threads)
	}
	if s.threads[i] != k.Threads {
		return fmt.Errorf("kernel %s: %s with %d and with %d threads", k.Name, c.Variant.Func, s.threads[i], k.Threads)
	}
	return nil
}
