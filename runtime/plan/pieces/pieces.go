// Package pieces cuts kernels.metal: whoever compiles a bundle's source for one file
// hands the compiler only the kernels that the file needs, with what they are made of.
//
// The source is cut at marks, comment lines that gen/msl writes in front of every
// declaration: so nothing here has to understand Metal.
//
//	//: NAME … [if NAME …] [using NAME …]
//
// says what the piece up to the next mark declares, which other names must be in use
// for it to count (of an explicit specialisation: what it specialises for), and which
// names it uses. All pieces that declare a name are used together. A mark without names
// before if and using stands in front of what belongs to any part of the source, as
// does what stands before the first mark. What is cut out has no marks, and nothing else
// that only readers need.
package pieces

import (
	"fmt"
	"slices"
	"strings"
)

const (
	prefix = "//:"
	// Words of C++, so that no declaration can have them as a name.
	ifWord    = "if"
	usingWord = "using"
)

// Mark is what a line in front of a piece says.
type Mark struct {
	Names []string // declared; none: the piece belongs to any part
	If    []string // in use too, or else the piece is not needed
	Using []string // used
}

// String is the mark as a line without its end.
func (m Mark) String() string {
	words := append([]string{prefix}, m.Names...)
	if len(m.If) > 0 {
		words = append(append(words, ifWord), m.If...)
	}
	if len(m.Using) > 0 {
		words = append(append(words, usingWord), m.Using...)
	}
	return strings.Join(words, " ")
}

// IsMark says whether a line is a mark.
func IsMark(line string) bool { return strings.HasPrefix(line, prefix) }

// parse reads a line; ok says that it is a mark.
func parse(line string) (m Mark, ok bool) {
	rest, ok := strings.CutPrefix(line, prefix)
	list := &m.Names
	for _, word := range strings.Fields(rest) {
		switch word {
		case ifWord:
			list = &m.If
		case usingWord:
			list = &m.Using
		default:
			*list = append(*list, word)
		}
	}
	return m, ok
}

// piece is a mark, and what stands between it and the next one as a compiler needs it.
type piece struct {
	Mark
	text string
}

// Source is a source cut at its marks.
type Source struct {
	pieces []piece
	about  map[string][]int // pieces whose mark has a name in front of using
}

// Parse cuts a source. One without marks is a single piece that belongs to any part.
func Parse(source string) *Source {
	s := &Source{pieces: []piece{{}}, about: map[string][]int{}}
	c := newCompactor(source)
	begin, at := 0, 0
	for line := range strings.Lines(source) {
		m, ok := parse(strings.TrimSuffix(line, "\n"))
		if ok {
			s.pieces[len(s.pieces)-1].text = c.compact(source[begin:at])
			s.pieces = append(s.pieces, piece{Mark: m})
		}
		if at += len(line); ok {
			begin = at
		}
	}
	s.pieces[len(s.pieces)-1].text = c.compact(source[begin:])
	for i, p := range s.pieces {
		for _, name := range slices.Concat(p.Names, p.If) {
			s.about[name] = append(s.about[name], i)
		}
	}
	return s
}

// Cut returns the part of the source that declares names, in the order of the source. It
// fails if the source lacks a name, or one that is used by what it returns.
func (s *Source) Cut(names []string) (string, error) {
	kept, err := s.keep(names)
	if err != nil {
		return "", err
	}
	var cut strings.Builder
	for i, p := range s.pieces {
		if kept[i] {
			cut.WriteString(p.text)
		}
	}
	return cut.String(), nil
}

// Inlined is the sum of the lengths of what each of names is made of, in bytes as Cut has
// them. A compiler that inlines every call has so much to do: what two kernels use, it
// compiles twice.
func (s *Source) Inlined(names []string) (bytes int, err error) {
	for _, name := range names {
		kept, err := s.keep([]string{name})
		if err != nil {
			return 0, err
		}
		for i, p := range s.pieces {
			if kept[i] && len(p.Names) > 0 {
				bytes += len(p.text)
			}
		}
	}
	return bytes, nil
}

// keep says which pieces a part that declares names has.
func (s *Source) keep(names []string) ([]bool, error) {
	c := &cutter{Source: s, kept: make([]bool, len(s.pieces)), wanted: map[string]bool{}}
	for i, p := range s.pieces {
		if len(p.Names) == 0 {
			c.add(i)
		}
	}
	c.want(names)
	for len(c.open) > 0 {
		name := c.open[0]
		c.open = c.open[1:]
		declared := false
		for _, i := range s.about[name] {
			declared = declared || slices.Contains(s.pieces[i].Names, name)
			if c.needed(&s.pieces[i]) {
				c.add(i)
			}
		}
		if !declared {
			return nil, fmt.Errorf("the Metal source has nothing named %s", name)
		}
	}
	return c.kept, nil
}

// cutter finds the pieces that names lead to.
type cutter struct {
	*Source
	kept   []bool
	wanted map[string]bool
	open   []string // wanted, not yet looked at
}

func (c *cutter) want(names []string) {
	for _, name := range names {
		if !c.wanted[name] {
			c.wanted[name] = true
			c.open = append(c.open, name)
		}
	}
}

func (c *cutter) add(i int) {
	if !c.kept[i] {
		c.kept[i] = true
		c.want(c.pieces[i].Using)
	}
}

// needed says whether a piece declares something that is wanted, and all is in use that
// it depends on.
func (c *cutter) needed(p *piece) bool {
	in := func(name string) bool { return c.wanted[name] }
	return slices.ContainsFunc(p.Names, in) && !slices.ContainsFunc(p.If, func(name string) bool { return !in(name) })
}
