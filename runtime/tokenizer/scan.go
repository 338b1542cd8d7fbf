package tokenizer

// text is a string cut into characters, each with its classes. Invalid bytes
// count as one character U+FFFD each, of no class.
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

// A matcher is one alternative of a regular expression. match returns where
// the match that starts at character i ends, or -1; end is the end of the
// piece, beyond which nothing is looked at. The time of a match, failed or not,
// must be such that a pass over a piece stays linear.
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

// lowerWord is `lead?U*W+suffix?` with U = upperish, W = lowerish and suffix an
// English contraction. The two classes overlap (modifier and other letters,
// marks), so U* has to give back characters when no W follows it.
type lowerWord struct{ lead set }

func (m lowerWord) match(t *text, i, end int) int {
	if i < end && m.lead.has(t.classes[i]) {
		if e := m.afterLead(t, i+1, end); e >= 0 {
			return e
		}
	}
	return m.afterLead(t, i, end)
}

func (m lowerWord) afterLead(t *text, i, end int) int {
	upper, lower := in(clUpperish), in(clLowerish)
	e, both := i, -1 // both: the last character of the U run that is also in W
	for ; e < end && upper.has(t.classes[e]); e++ {
		if lower.has(t.classes[e]) {
			both = e
		}
	}
	switch w := t.run(lower, e, end); {
	case w > e:
		return t.contraction(w, end)
	case both >= 0: // W+ is that one character: its successors are not in W
		return t.contraction(both+1, end)
	}
	return -1
}

// upperWord is `lead?U+W*suffix?`, the second half of lowerWord's alternation.
type upperWord struct{ lead set }

func (m upperWord) match(t *text, i, end int) int {
	body := span{lead: m.lead, body: in(clUpperish), tail: in(clLowerish)}
	e := body.match(t, i, end)
	if e < 0 {
		return -1
	}
	return t.contraction(e, end)
}

// contraction is `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`.
type contraction struct{}

func (contraction) match(t *text, i, end int) int {
	if e := t.contraction(i, end); e > i {
		return e
	}
	return -1
}

// contraction returns the end of the contraction at i, or i if there is none.
func (t *text) contraction(i, end int) int {
	at := func(k int) rune {
		if i+k >= end {
			return 0
		}
		r := t.runes[i+k]
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if at(0) != '\'' {
		return i
	}
	switch at(1) {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if at(2) == 'e' {
			return i + 3
		}
	case 'l':
		if at(2) == 'l' {
			return i + 3
		}
	}
	return i
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

// spaces is `\s+(?!\S)|\s+`: a run of white space without its last character
// when something follows, so that this character can lead the next word; but a
// single one is taken all the same.
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

// split cuts s into pieces and returns their ends as byte offsets. Each pass
// cuts the pieces that the pass before left, matches and gaps alike. The result
// is valid until the next call.
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
