package sample

import "strings"

// Stopper watches a stream of text for stop strings. It holds back text that could be the beginning of one,
// so that no part of a stop string is emitted. The output does not depend on how the text is split.
type Stopper struct {
	stops   []string
	held    string
	matched string
}

// NewStopper returns a Stopper for the given strings; empty ones are ignored.
func NewStopper(stops []string) *Stopper {
	s := &Stopper{}
	for _, stop := range stops {
		if stop != "" {
			s.stops = append(s.stops, stop)
		}
	}
	return s
}

// Push adds text and returns the text that can be emitted now, and whether a stop string is complete. Then
// the text before it is emitted, and all later text is dropped. Of several stop strings, the one that is
// complete first counts.
func (s *Stopper) Push(text string) (emit string, stopped bool) {
	if s.matched != "" {
		return "", true
	}
	buffer := s.held + text
	if stop, end := s.first(buffer); end >= 0 {
		s.matched, s.held = stop, ""
		return buffer[:end-len(stop)], true
	}
	keep := s.partial(buffer)
	s.held = buffer[len(buffer)-keep:]
	return buffer[:len(buffer)-keep], false
}

// Flush returns the text that was held back, at the end of the stream.
func (s *Stopper) Flush() string {
	held := s.held
	s.held = ""
	return held
}

// Matched returns the stop string that was found, or "".
func (s *Stopper) Matched() string { return s.matched }

// first finds the stop string that ends first, the longest of those; end is -1
// when there is none.
func (s *Stopper) first(text string) (stop string, end int) {
	end = -1
	for _, candidate := range s.stops {
		i := strings.Index(text, candidate)
		if i < 0 {
			continue
		}
		e := i + len(candidate)
		if end < 0 || e < end || e == end && len(candidate) > len(stop) {
			stop, end = candidate, e
		}
	}
	return stop, end
}

// partial returns the length of the longest end of text that begins a stop
// string.
func (s *Stopper) partial(text string) int {
	longest := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}
