package cuda

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ptx is the text of a module, cut at its entries. The driver compiles all
// entries of what it loads, and a file needs few of a bundle's variants: so only
// those are handed to it.
type ptx struct {
	bytes   int      // of the text
	target  int      // compute capability that it needs: 90 is 9.0
	shared  []string // what all entries may use, in order
	entries map[string]*entry
	order   []string
}

// entry is one kernel.
type entry struct {
	text   string
	params int
	after  int // shared[:after] comes before it
}

// parsePTX cuts the text that clang writes: a line begins with .visible .entry or
// .entry where a kernel does, and the next line that is a brace alone ends it.
func parsePTX(text string) (*ptx, error) {
	p := &ptx{bytes: len(text), entries: map[string]*entry{}}
	var open strings.Builder
	flush := func() {
		p.shared = append(p.shared, open.String())
		open.Reset()
	}
	name := ""
	for line := range strings.Lines(text) {
		declared, begins := strings.CutPrefix(strings.TrimPrefix(line, ".visible "), ".entry ")
		switch {
		case begins && name != "":
			return nil, fmt.Errorf("PTX: an entry begins inside %s", name)
		case begins:
			flush()
			if name, _, _ = strings.Cut(strings.TrimSpace(declared), "("); name == "" {
				return nil, errors.New("PTX: an entry without a name")
			}
		}
		open.WriteString(line)
		if name != "" && strings.HasPrefix(line, "}") {
			body := open.String()
			open.Reset()
			if err := p.add(name, body); err != nil {
				return nil, err
			}
			name = ""
		}
		if target, ok := strings.CutPrefix(line, ".target sm_"); ok {
			digits, _, _ := strings.Cut(strings.TrimSpace(target), ",")
			n, err := strconv.Atoi(strings.TrimRight(digits, "af")) // sm_90a: features of that device only
			if err != nil {
				return nil, fmt.Errorf("PTX: .target sm_%s", digits)
			}
			p.target = n
		}
	}
	flush()
	switch {
	case name != "":
		return nil, fmt.Errorf("PTX: entry %s does not end", name)
	case p.target == 0:
		return nil, errors.New("PTX: no .target sm_ line")
	}
	return p, nil
}

// add keeps an entry. Parameters are declared before the body.
func (p *ptx) add(name, text string) error {
	if p.entries[name] != nil {
		return fmt.Errorf("PTX: entry %s is there twice", name)
	}
	head, _, _ := strings.Cut(text, "{")
	p.entries[name] = &entry{text, strings.Count(head, ".param "), len(p.shared)}
	p.order = append(p.order, name)
	return nil
}

// module is the text with only the entries wanted, in the order of the text.
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
