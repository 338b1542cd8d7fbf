package input

import "bytes"

// Terminals put these markers around pasted text, once bracketed paste is switched on.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
)

// The signs that replace a line break and a tab in a line that is edited.
const (
	lineBreak = '␤'
	tabulator = '␉'
)

// pasted filters the terminal's input. Text outside the markers passes unchanged. Inside, line breaks and
// tabs are replaced by signs, and other control characters are removed, as they would act as commands. A
// marker may arrive in pieces.
type pasted struct {
	inside bool
	held   []byte // possibly the beginning of a marker
	cr     bool   // the last byte inside the markers was a carriage return
}

// push filters data, and returns the part of the text that is certain so far.
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
		} else if p.inside { // outside, a key may begin like a marker, and must not wait
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

// pass adds bytes that are not part of a marker.
func (p *pasted) pass(out, data []byte) []byte {
	if !p.inside {
		return append(out, data...)
	}
	for _, b := range data {
		switch {
		case b == '\n' && p.cr: // the carriage return was already replaced
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

// beginning returns how many bytes at the end of data begin a marker.
func beginning(data []byte, marker string) int {
	for n := min(len(data), len(marker)-1); n > 0; n-- {
		if bytes.HasSuffix(data, []byte(marker[:n])) {
			return n
		}
	}
	return 0
}
