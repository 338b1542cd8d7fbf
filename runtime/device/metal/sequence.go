package metal

import (
	"fmt"

	"mla/runtime/device"
)

const (
	// maxCommands is how many commands one execution of an ICB can have.
	maxCommands = 16384
	// maxBindings is how many buffers a kernel can have.
	maxBindings = 31
)

// command is a resolved dispatch, and the number of its function.
type command struct {
	device.Command
	function int // index in sequence.functions
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

// newSequence resolves a bundle's dispatches for devices of a kernel class and fills
// l.constants.
func newSequence(m *device.Model, cfg device.Config, l *layout, class string) (*sequence, error) {
	b := m.Bundle
	if n := len(b.Decode) + len(b.Sample); n > maxCommands {
		return nil, fmt.Errorf("bundle %s: %d dispatches; expected at most %d", b.Name, n, maxCommands)
	}
	resolved, err := m.Commands(l.Layout, cfg.KV, class)
	if err != nil {
		return nil, err
	}
	l.constants = resolved.Constants
	s := &sequence{head: b.Head, decode: len(b.Decode)}
	known := map[string]int{}
	for _, list := range [][]device.Command{resolved.Decode, resolved.Sample} {
		for i := range list {
			if err := s.add(&list[i], known); err != nil {
				return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
			}
		}
		if s.needed == 0 {
			s.needed = len(s.functions)
		}
	}
	return s, nil
}

// add appends a command; known numbers the functions.
func (s *sequence) add(c *device.Command, known map[string]int) error {
	k := c.Kernel
	if len(k.Slots) > maxBindings {
		return fmt.Errorf("kernel %s: %d slots; expected at most %d", k.Name, len(k.Slots), maxBindings)
	}
	i, ok := known[c.Variant.Func]
	if !ok {
		i = len(s.functions)
		known[c.Variant.Func] = i
		s.functions, s.threads = append(s.functions, c.Variant.Func), append(s.threads, k.Threads)
	}
	if s.threads[i] != k.Threads {
		return fmt.Errorf("kernel %s: %s with %d and with %d threads", k.Name, c.Variant.Func, s.threads[i], k.Threads)
	}
	s.commands = append(s.commands, command{*c, i})
	s.bindings = max(s.bindings, len(c.Bindings))
	return nil
}
