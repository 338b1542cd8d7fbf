package cuda

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mla/runtime/plan/ptxfile"
)

// ptx is the text of a module, cut at its entries. The driver compiles all entries of the text that it loads,
// and a file needs few of a bundle's variants: so only those are loaded.
type ptx struct {
	bytes   int      // of the text
	target  int      // compute capability that it needs: 90 is 9.0
	shared  []string // text that all entries may use, in order
	entries map[string]*entry
	order   []string
	// blockMemory is the most bytes of shared memory per block that the device allows.
	blockMemory int
}

// entry is one kernel.
type entry struct {
	text    string
	params  int
	dynamic int // bytes of dynamic shared memory that a launch asks for
	after   int // shared[:after] comes before it in the text
}

// parsePTX cuts a text that gen/ptx has written. An entry begins at a line with .visible .entry or .entry,
// and ends at the next line that is a single brace. Above an entry with dynamic shared memory there is a line
// with its size, which belongs to the entry.
func parsePTX(text string) (*ptx, error) {
	c := &cutter{ptx: &ptx{bytes: len(text), entries: map[string]*entry{}}}
	for line := range strings.Lines(text) {
		if err := c.line(line); err != nil {
			return nil, fmt.Errorf("PTX: %w", err)
		}
	}
	c.flush()
	switch {
	case c.name != "":
		return nil, fmt.Errorf("PTX: entry %s does not end", c.name)
	case c.dynamic > 0:
		return nil, errors.New("PTX: no entry after its shared memory")
	case c.target == 0:
		return nil, errors.New("PTX: no .target sm_ line")
	}
	return c.ptx, nil
}

// cutter is the state of parsePTX at a line.
type cutter struct {
	*ptx
	open    strings.Builder
	name    string // of the current entry; "": between entries
	dynamic int    // bytes of dynamic shared memory of this entry or the next
}

func (c *cutter) flush() {
	c.shared = append(c.shared, c.open.String())
	c.open.Reset()
}

func (c *cutter) line(line string) error {
	dynamic, err := ptxfile.Dynamic(line)
	if err != nil {
		return err
	}
	declared, begins := strings.CutPrefix(strings.TrimPrefix(line, ".visible "), ".entry ")
	unsized, expected := strings.HasPrefix(strings.TrimLeft(line, " \t"), ".extern .shared "), c.dynamic > 0 && c.name == ""
	switch {
	case begins && c.name != "":
		return fmt.Errorf("an entry begins inside %s", c.name)
	case dynamic > 0 && c.name != "":
		return fmt.Errorf("what an entry needs is inside %s", c.name)
	case unsized && !expected:
		return errors.New("shared memory whose size is not said")
	case expected && !unsized && !begins:
		return errors.New("no entry after its shared memory")
	case dynamic > 0:
		c.flush()
		c.dynamic = dynamic
	case begins:
		err = c.begin(declared)
	case strings.HasPrefix(line, ".target sm_"):
		err = c.readTarget(line)
	}
	c.open.WriteString(line)
	if err == nil && c.name != "" && strings.HasPrefix(line, "}") {
		err = c.end()
	}
	return err
}

// begin begins an entry, which includes the line about shared memory above it.
func (c *cutter) begin(declared string) error {
	if c.dynamic == 0 {
		c.flush()
	}
	if c.name, _, _ = strings.Cut(strings.TrimSpace(declared), "("); c.name == "" {
		return errors.New("an entry without a name")
	}
	return nil
}

// end appends the current entry. Its parameters are declared before the body.
func (c *cutter) end() error {
	if c.entries[c.name] != nil {
		return fmt.Errorf("entry %s is there twice", c.name)
	}
	text := c.open.String()
	c.open.Reset()
	head, _, _ := strings.Cut(text, "{")
	c.entries[c.name] = &entry{text, strings.Count(head, ".param "), c.dynamic, len(c.shared)}
	c.order = append(c.order, c.name)
	c.name, c.dynamic = "", 0
	return nil
}

func (c *cutter) readTarget(line string) error {
	digits, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, ".target sm_")), ",")
	n, err := strconv.Atoi(strings.TrimRight(digits, "af")) // sm_90a: features of this architecture only
	if err != nil {
		return fmt.Errorf(".target sm_%s", digits)
	}
	c.target = n
	return nil
}

// module returns the text with the wanted entries only, in the order of the text.
func (p *ptx) module(wanted map[string]bool) string {
	var b strings.Builder
	shared := 0
	for _, name := range p.order {
		e := p.entries[name]
		for ; shared < e.after; shared++ {
			b.WriteString(p.shared[shared])
		}
		if wanted[name] {
			b.WriteString(e.text)
		}
	}
	for ; shared < len(p.shared); shared++ {
		b.WriteString(p.shared[shared])
	}
	return b.String()
}
