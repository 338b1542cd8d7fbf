package pattern

import (
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	"mla/runtime/text/grammar"
)

// Automaton is a list of states; texts begin at the first. From every state an accepting one can be reached.
// The automaton of no text has a single state.
type Automaton []State

// State has edges with disjoint classes.
type State struct {
	Accept bool
	Edges  []Edge
}

// Edge is a class of characters that leads to a state.
type Edge struct {
	By grammar.Class
	To int
}

// maxStates is the most states of an automaton.
const maxStates = 1 << 13

// Automaton is the automaton of a language.
func (w *Work) Automaton(n Language) (a Automaton, err error) {
	err = w.part(func() { a = (&builder{formulas: newFormulas(w), numbers: map[position]int{}}).build(n) })
	return a, err
}

// position is a formula with the kind of place at which it holds.
type position struct {
	formula
	begin, word bool
}

type builder struct {
	*formulas
	letters   []letter // one for each class of characters
	words     bool     // whether a letter before the place matters
	numbers   map[position]int
	positions []position
	edges     [][]int // by letter; negative: none
	accept    []bool
}

// letter is a set of characters that no class distinguishes.
type letter struct {
	char  rune // one of them
	class grammar.Class
	word  bool
}

func (b *builder) build(n Language) Automaton {
	b.alphabet(n)
	b.number(position{formula: b.atom(n), begin: true})
	for i := 0; i < len(b.positions); i++ {
		at := b.positions[i]
		end := step{formulas: b.formulas, place: place{begin: at.begin, end: true, wordBefore: at.word}, open: map[*node]bool{}, results: map[formula]formula{}}
		b.accept = append(b.accept, end.formula(at.formula) == all)
		row := make([]int, len(b.letters))
		for l := range b.letters {
			s := step{formulas: b.formulas, place: place{begin: at.begin, wordBefore: at.word, wordNext: b.letters[l].word}, char: b.letters[l].char, open: map[*node]bool{}, results: map[formula]formula{}}
			row[l] = -1
			if to := s.formula(at.formula); to != never {
				row[l] = b.number(position{formula: to, word: b.words && to != all && b.letters[l].word})
			}
		}
		b.edges = append(b.edges, row)
	}
	return b.automaton(b.alike())
}

func (b *builder) number(p position) int {
	n, ok := b.numbers[p]
	if !ok {
		if b.spend(16 + len(b.letters)); len(b.positions) >= maxStates {
			panic(stopped{ErrTooLarge})
		}
		n = len(b.positions)
		b.numbers[p] = n
		b.positions = append(b.positions, p)
	}
	return n
}

// alphabet finds the sets of characters that a language distinguishes.
func (b *builder) alphabet(n Language) {
	var classes []grammar.Class
	seen := map[*node]bool{}
	for stack := []*node{n}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == nil || seen[at] {
			continue
		}
		b.spend(1)
		seen[at] = true
		if at.kind == isChar && !slices.ContainsFunc(classes, func(c grammar.Class) bool { return slices.Equal(c, at.class) }) {
			b.spend(len(classes) + len(at.class))
			classes = append(classes, at.class)
		}
		b.words = b.words || at.kind == isAsserts && at.assert >= atWord
		stack = append(append(stack, at.next), at.list...)
	}
	if b.words {
		classes = append(classes, words)
	}
	b.split(append(classes, Anything))
}

// split computes letters: the intervals between the bounds of classes. Intervals in the same classes form one
// letter.
func (b *builder) split(classes []grammar.Class) {
	bounds := map[rune]bool{0xD800: true, 0xE000: true}
	for _, c := range classes {
		for _, r := range c {
			bounds[r.Lo], bounds[r.Hi+1] = true, true
		}
	}
	var starts []rune
	for r := range bounds {
		if r >= 0 && r <= utf8.MaxRune {
			starts = append(starts, r)
		}
	}
	slices.Sort(starts)
	known := map[string]int{}
	b.spend(len(starts) * (4 + len(classes)))
	for i, lo := range starts {
		hi := rune(utf8.MaxRune)
		if i+1 < len(starts) {
			hi = starts[i+1] - 1
		}
		if lo >= 0xD800 && hi < 0xE000 { // surrogates are not characters
			continue
		}
		key := make([]byte, len(classes))
		for n, c := range classes {
			if contains(c, lo) {
				key[n] = 1
			}
		}
		at, ok := known[string(key)]
		if !ok {
			at = len(b.letters)
			known[string(key)] = at
			b.letters = append(b.letters, letter{char: lo, word: contains(words, lo)})
		}
		b.letters[at].class = append(b.letters[at].class, grammar.Range{Lo: lo, Hi: hi})
	}
}

// contains says whether a character is in a class, whose ranges are in order.
func contains(c grammar.Class, char rune) bool {
	i := sort.Search(len(c), func(i int) bool { return c[i].Hi >= char })
	return i < len(c) && c[i].Lo <= char
}

// alike assigns numbers to states; equivalent states get the same one; -1: no text is accepted from there
// (Moore's algorithm).
func (b *builder) alike() []int {
	class := make([]int, len(b.accept))
	for i, accept := range b.accept {
		if accept {
			class[i] = 1
		}
	}
	for count := 0; ; {
		known := map[string]int{}
		next := make([]int, len(class))
		for i, row := range b.edges {
			b.spend(1 + len(row)/8)
			key := make([]byte, 0, 3*len(row)+3)
			key = append(key, byte(class[i]), byte(class[i]>>8))
			for _, to := range row {
				c := -1
				if to >= 0 {
					c = class[to]
				}
				key = append(key, byte(c), byte(c>>8), byte(c>>16))
			}
			n, ok := known[string(key)]
			if !ok {
				n = len(known)
				known[string(key)] = n
			}
			next[i] = n
		}
		class = next
		if len(known) == count {
			break
		}
		count = len(known)
	}
	return b.alive(class)
}

// alive sets class -1 for states from which no text is accepted.
func (b *builder) alive(class []int) []int {
	users := make([][]int, len(class))
	var queue []int
	alive := make([]bool, len(class))
	for i, row := range b.edges {
		for _, to := range row {
			if to >= 0 {
				users[to] = append(users[to], i)
			}
		}
		if alive[i] = b.accept[i]; alive[i] {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, u := range users[i] {
			if !alive[u] {
				alive[u] = true
				queue = append(queue, u)
			}
		}
	}
	out := slices.Clone(class)
	for i := range out {
		if !alive[i] {
			out[i] = -1
		}
	}
	return out
}

// automaton makes a state for each class.
func (b *builder) automaton(class []int) Automaton {
	number := map[int]int{} // by class: its state
	a := Automaton{}
	var from []int
	state := func(i int) int {
		n, ok := number[class[i]]
		if !ok {
			n = len(a)
			number[class[i]] = n
			a, from = append(a, State{Accept: b.accept[i]}), append(from, i)
		}
		return n
	}
	if class[0] < 0 {
		return Automaton{{}}
	}
	state(0)
	for n := 0; n < len(from); n++ {
		by := map[int]grammar.Class{}
		var order []int
		for l, to := range b.edges[from[n]] {
			if to < 0 || class[to] < 0 {
				continue
			}
			at := state(to)
			if by[at] == nil {
				order = append(order, at)
			}
			by[at] = append(by[at], b.letters[l].class...)
		}
		for _, at := range order {
			c := by[at]
			slices.SortFunc(c, func(x, y grammar.Range) int { return cmp.Compare(x.Lo, y.Lo) })
			b.spend(len(c))
			a[n].Edges = append(a[n].Edges, Edge{c.Not().Not(), at})
		}
	}
	return a
}

// IsEmpty says that no text is accepted.
func (a Automaton) IsEmpty() bool { return len(a) == 1 && !a[0].Accept && len(a[0].Edges) == 0 }

// Accepts says whether a text belongs to the language.
func (a Automaton) Accepts(text string) bool {
	at := 0
next:
	for _, r := range text {
		for _, e := range a[at].Edges {
			if contains(e.By, r) {
				at = e.To
				continue next
			}
		}
		return false
	}
	return a[at].Accept
}

// Matches says whether a text belongs to a language, without constructing the automaton.
func (w *Work) Matches(n Language, text string) (ok bool, err error) {
	defer catch(&err)
	f := newFormulas(w)
	at, place := f.atom(n), place{begin: true}
	for _, r := range text {
		place.wordNext = contains(words, r)
		s := step{formulas: f, place: place, char: r, open: map[*node]bool{}, results: map[formula]formula{}}
		at = s.formula(at)
		place.begin, place.wordBefore = false, place.wordNext
	}
	place.end, place.wordNext = true, false
	s := step{formulas: f, place: place, open: map[*node]bool{}, results: map[formula]formula{}}
	return s.formula(at) == all, nil
}
