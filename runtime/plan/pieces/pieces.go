// Package pieces cuts a bundle's Metal source, so that the compiler gets only the kernels that a file needs,
// with the declarations that these use.
//
// The source is cut at marks, comment lines that gen/msl writes before every declaration. So this package
// need not parse Metal.
//
//	//: NAME … [if NAME …] [using NAME …]
//
// declares the names of the piece up to the next mark. The names after "if" must be in use for the piece to
// count; a mark of an explicit specialisation names the specialised types there. The names after "using" are
// used by the piece. All pieces that declare a name are used together. A piece whose mark declares nothing,
// or that comes before the first mark, belongs to every part of the source. The result of a cut has no marks,
// comments or other text for human readers.
package pieces

import (
	"fmt"
	"slices"
	"strings"
)

const (
	prefix = "//:"
	// Keywords of C++, so that no declaration can have these names.
	ifWord    = "if"
	usingWord = "using"
)

// Mark is the contents of a mark.
type Mark struct {
	Names []string // names that the piece declares; none: the piece belongs to every part
	If    []string // names that must be in use for the piece to count
	Using []string // names that the piece uses
}

// String is the line of the mark, without a line end.
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

// parse parses a line; ok: it is a mark.
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

// piece is a mark and the compacted text up to the next mark.
type piece struct {
	Mark
	text string
}

// Source is a source cut at its marks.
type Source struct {
	pieces []piece
	about  map[string][]int // indices of pieces, by the names that their marks have before using
}

// Parse cuts a source at its marks. A source without marks is one piece.
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

// Cut returns the part of the source that declares and uses names, in the order of the source. It fails if
// the source does not declare a name that is needed.
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

// Inlined is the sum, over all names, of the bytes of source that each needs. It is the work of a compiler
// that inlines every call: a function that two kernels use is compiled twice.
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

// keep says which pieces belong to the part that declares names.
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

// cutter finds the pieces that names need.
type cutter struct {
	*Source
	kept   []bool
	wanted map[string]bool
	open   []string // wanted names whose pieces were not looked up yet
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

// needed says whether a piece declares a wanted name, and all names of its "if" are in use.
func (c *cutter) needed(p *piece) bool {
	in := func(name string) bool { return c.wanted[name] }
	return slices.ContainsFunc(p.Names, in) && !slices.ContainsFunc(p.If, func(name string) bool { return !in(name) })
}
