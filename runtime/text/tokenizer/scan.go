package tokenizer

// text is a string split into characters, each with its classes. Each invalid byte counts as one character
// U+FFFD without a class.
type text struct {
	runes   []rune
	classes []class
	offsets []int // byte offset of each character, and the length of the string at the end
}

// read fills t from s, reusing its memory.
func (t *text) read(s string) {
	table := classes()
	t.runes, t.classes, t.offsets = t.runes[:0], t.classes[:0], t.offsets[:0]
	for i, r := range s {
		t.runes = append(t.runes, r)
		t.classes = append(t.classes, table.of(r))
		t.offsets = append(t.offsets, i)
	}
	t.offsets = append(t.offsets, len(s))
}

// run returns the end of the longest run of characters in s that starts at i.
func (t *text) run(s set, i, end int) int {
	for i < end && s.has(t.classes[i]) {
		i++
	}
	return i
}

// A matcher is one alternative of a regular expression. match returns the end of a match that begins at
// character i, or -1; end is the end of the piece, beyond which it must not look. The time of a match, failed
// or not, must keep a pass over a piece linear.
type matcher interface {
	match(t *text, i, end int) int
}

// span is `lead?body+tail*`, or `lead?body{1,max}tail*`.
type span struct {
	lead, body, tail set
	max              int // 0 = no limit
}

func (m span) match(t *text, i, end int) int {
	if i < end && m.lead.has(t.classes[i]) {
		if e := m.afterLead(t, i+1, end); e >= 0 {
			return e
		}
	}
	return m.afterLead(t, i, end)
}

func (m span) afterLead(t *text, i, end int) int {
	stop := end
	if m.max > 0 {
		stop = min(end, i+m.max)
	}
	e := t.run(m.body, i, stop)
	if e == i {
		return -1
	}
	return t.run(m.tail, e, end)
}

// pairOf is `head body+`.
type pairOf struct{ head, body set }

func (m pairOf) match(t *text, i, end int) int {
	if i == end || !m.head.has(t.classes[i]) {
		return -1
	}
	if e := t.run(m.body, i+1, end); e > i+1 {
		return e
	}
	return -1
}

// newlines is `\s*[\r\n]+`: white space up to the last line break of its run.
type newlines struct{}

func (newlines) match(t *text, i, end int) int {
	last := -1
	for ; i < end && in(clSpace).has(t.classes[i]); i++ {
		if in(clNewline).has(t.classes[i]) {
			last = i + 1
		}
	}
	return last
}

// spaces is `\s+(?!\S)|\s+`: a run of white space without its last character if something follows, so that
// the last one can lead the next word. A single character is taken in any case.
type spaces struct{}

func (spaces) match(t *text, i, end int) int {
	e := t.run(in(clSpace), i, end)
	switch {
	case e == i:
		return -1
	case e == end || e == i+1:
		return e
	}
	return e - 1
}

// A pass is one regular expression of a pre-tokeniser. next returns the first
// match in the characters [i, end); from is -1 when there is none.
type pass interface {
	next(t *text, i, end int) (from, to int)
}

// firstOf is the alternation of its matchers, tried in order at every position.
type firstOf []matcher

func (p firstOf) next(t *text, i, end int) (from, to int) {
	for ; i < end; i++ {
		for _, m := range p {
			if e := m.match(t, i, end); e >= 0 {
				return i, e
			}
		}
	}
	return -1, -1
}

// trailingSpace is `\s+$`, read from the end to stay linear.
type trailingSpace struct{}

func (trailingSpace) next(t *text, i, end int) (from, to int) {
	from = end
	for from > i && in(clSpace).has(t.classes[from-1]) {
		from--
	}
	if from == end {
		return -1, -1
	}
	return from, end
}

// scanner applies a pre-tokeniser, keeping its memory between calls.
type scanner struct {
	text         text
	ends, former []int // ends of the pieces, in characters, after this pass and the one before
}

// split splits s into pieces and returns their ends as byte offsets. Each pass splits the pieces of the
// previous one into matches and the gaps between them. The result is valid until the next call.
func (sc *scanner) split(s string, passes []pass) []int {
	t := &sc.text
	t.read(s)
	sc.ends = append(sc.ends[:0], len(t.runes))
	if len(s) == 0 {
		return sc.ends[:0]
	}
	for _, p := range passes {
		sc.ends, sc.former = sc.former[:0], sc.ends
		start := 0
		for _, end := range sc.former {
			sc.cut(p, start, end)
			start = end
		}
	}
	for i, e := range sc.ends {
		sc.ends[i] = t.offsets[e]
	}
	return sc.ends
}

// cut splits the piece [i, end) by one pass and appends the ends of the parts.
func (sc *scanner) cut(p pass, i, end int) {
	for i < end {
		from, to := p.next(&sc.text, i, end)
		if from < 0 {
			sc.ends = append(sc.ends, end)
			return
		}
		if from > i {
			sc.ends = append(sc.ends, from)
		}
		sc.ends = append(sc.ends, to)
		i = to
	}
}
