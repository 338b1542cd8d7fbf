package input

import "bytes"

// Terminals put these around what is pasted, once they are asked to (bracketed paste).
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
)

// What stands for a line break and a tab in a line that is edited.
const (
	lineBreak = '␤'
	tabulator = '␉'
)

// pasted takes apart what comes from a terminal: outside of what is pasted it is passed on,
// inside line breaks and tabs become signs, and other control codes are left out, as they
// would be commands. A marker may come in pieces.
type pasted struct {
	inside bool
	held   []byte // the beginning of a marker, maybe
	cr     bool   // the last byte inside was a carriage return
}

// push returns what is certain of the text so far.
func (p *pasted) push(data []byte) (out []byte) {
	data = append(p.held, data...)
	p.held = nil
	for len(data) > 0 {
		marker := pasteBegin
		if p.inside {
			marker = pasteEnd
		}
		at := bytes.Index(data, []byte(marker))
		rest := len(data)
		if at >= 0 {
			rest = at
		} else if p.inside { // outside, a key may begin like a marker: it is not to wait
			rest -= beginning(data, marker)
		} else if n := beginning(data, marker); n > len("\x1b[") {
			rest -= n
		}
		out = p.pass(out, data[:rest])
		if at < 0 {
			p.held = bytes.Clone(data[rest:])
			return out
		}
		data = data[at+len(marker):]
		p.inside, p.cr = !p.inside, false
	}
	return out
}

// pass adds bytes that are no markers.
func (p *pasted) pass(out, data []byte) []byte {
	if !p.inside {
		return append(out, data...)
	}
	for _, b := range data {
		switch {
		case b == '\n' && p.cr: // the line break is there already
		case b == '\r' || b == '\n':
			out = append(out, string(lineBreak)...)
		case b == '\t':
			out = append(out, string(tabulator)...)
		case b >= ' ' && b != 0x7f:
			out = append(out, b)
		}
		p.cr = b == '\r'
	}
	return out
}

// beginning is how many bytes at the end of data begin a marker.
func beginning(data []byte, marker string) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasSuffix(data, []byte(marker[:n])) {
			return n
		}
	}
	return 0
}
