package child

import (
	"fmt"
	"sync"
)

// LongestLine is the most bytes of a line that are kept.
const LongestLine = 64 << 10

// lines splits its input into lines.
type lines struct {
	mu    sync.Mutex
	call  func([]byte)
	begun []byte
	ended bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			l.flush()
		case len(l.begun) < LongestLine:
			l.begun = append(l.begun, b)
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	if l.call != nil && !l.ended {
		l.call(l.begun)
	}
	l.begun = l.begun[:0]
}

// end passes on a last line without a line end, and nothing after it.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.begun) > 0 {
		l.flush()
	}
	l.ended = true
}

// shortened keeps the beginning and the end of its input: a crash names its cause first, an error last.
type shortened struct {
	mu         sync.Mutex
	head, tail []byte
	left       int // number of dropped bytes between them
}

// keptHead and keptTail are the bytes that are kept of the beginning and the end.
const keptHead, keptTail = 3 << 10, 1 << 10

func (s *shortened) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(p), keptHead-len(s.head))
	s.head = append(s.head, p[:n]...)
	s.tail = append(s.tail, p[n:]...)
	if over := len(s.tail) - keptTail; over > 0 {
		s.tail, s.left = append([]byte(nil), s.tail[over:]...), s.left+over
	}
	return len(p), nil
}

func (s *shortened) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return string(s.head) + string(s.tail)
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", s.head, s.left, s.tail)
}
