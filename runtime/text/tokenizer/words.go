package tokenizer

// cased is how a pre-tokeniser splits words where lower case changes to upper case.
type cased struct {
	lead         set  // one such character may precede the word
	upper, lower set  // both include the characters without case
	suffix       bool // an English contraction may follow
}

// lowerWord is `lead?U*W+suffix?` with U = upper, W = lower. The two classes overlap (modifier and other
// letters, marks), so U* has to give back characters if no W follows.
type lowerWord cased

func (m lowerWord) match(t *text, i, end int) int {
	if i < end && m.lead.has(t.classes[i]) {
		if e := m.afterLead(t, i+1, end); e >= 0 {
			return e
		}
	}
	return m.afterLead(t, i, end)
}

func (m lowerWord) afterLead(t *text, i, end int) int {
	e, both := i, -1 // both: the last character of the U run that is also in W
	for ; e < end && m.upper.has(t.classes[e]); e++ {
		if m.lower.has(t.classes[e]) {
			both = e
		}
	}
	switch w := t.run(m.lower, e, end); {
	case w > e:
		return cased(m).end(t, w, end)
	case both >= 0: // W+ is this one character, as its successor is not in W
		return cased(m).end(t, both+1, end)
	}
	return -1
}

// upperWord is `lead?U+W*suffix?`, the second half of lowerWord's alternation.
type upperWord cased

func (m upperWord) match(t *text, i, end int) int {
	body := span{lead: m.lead, body: m.upper, tail: m.lower}
	e := body.match(t, i, end)
	if e < 0 {
		return -1
	}
	return cased(m).end(t, e, end)
}

// end is the end of a word whose letters end at i.
func (m cased) end(t *text, i, end int) int {
	if m.suffix {
		return t.contraction(i, end, true)
	}
	return i
}

// contraction is `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`, or the same in lower case only.
type contraction struct{ small bool }

func (m contraction) match(t *text, i, end int) int {
	if e := t.contraction(i, end, !m.small); e > i {
		return e
	}
	return -1
}

// contraction returns the end of the contraction at i, or i if there is none.
func (t *text) contraction(i, end int, capitals bool) int {
	at := func(k int) rune {
		if i+k >= end {
			return 0
		}
		r := t.runes[i+k]
		if capitals && 'A' <= r && r <= 'Z' {
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
