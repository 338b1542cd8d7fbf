package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	edit "github.com/peterh/liner"
	"golang.org/x/term"
)

// Completer returns the completions of a line that begins with a slash when Tab is pressed. A completed line
// is head followed by an entry of list.
type Completer func(line string) (head string, list []string)

// Edited returns a Reader of the terminal of stdin and stdout, with a completer. The terminal is in raw mode
// only while a line is read, so that Ctrl-C interrupts an answer.
func Edited(h *History, complete Completer) (*Reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	e := &editor{history: h, completer: complete, keys: r, feed: w, stdin: os.Stdin, stdout: os.Stdout, next: make(chan struct{})}
	go e.pump()
	return &Reader{lines: e, history: h}, nil
}

// editor is a line editor. The library reads keys from a pipe, into which the editor writes the terminal's
// input, so that pasted text cannot act as commands.
type editor struct {
	history       *History
	completer     Completer
	keys, feed    *os.File // both ends of the pipe
	stdin, stdout *os.File
	next          chan struct{} // requests a line
	resized       atomic.Bool   // the window's size has changed since the line was drawn
	erased        bool          // the line was removed from the window and must be drawn again
	at            int           // the position of the cursor at that time, in runes
}

// pump passes keys on. For each requested line it passes them up to the line's end.
func (e *editor) pump() {
	defer e.feed.Close()
	var p pasted
	buffer := make([]byte, 4096)
	<-e.next
	for {
		n, err := e.stdin.Read(buffer)
		keys := p.push(buffer[:n])
		for len(keys) > 0 {
			end := strings.IndexAny(string(keys), "\r\n\x03") + 1
			if end == 0 {
				end = len(keys)
			}
			if _, err := e.feed.Write(keys[:end]); err != nil {
				return
			}
			if last := keys[end-1]; last == '\r' || last == '\n' || last == 3 {
				<-e.next
			}
			keys = keys[end:]
		}
		if err != nil {
			return
		}
	}
}

// line implements liner.
func (e *editor) line(prompt string) (string, error) {
	windows := make(chan os.Signal, 1)
	done := make(chan struct{})
	defer close(done)
	e.next <- struct{}{}
	go e.watch(windows, done)
	defer signal.Stop(windows)
	defer e.restoring()()
	text, at := "", 0
	for {
		state := e.open()
		signal.Notify(windows, syscall.SIGWINCH)
		state.SetWordCompleter(func(line string, pos int) (string, []string, string) { return e.complete(prompt, line, pos) })
		fmt.Fprint(e.stdout, pasteOn)
		var err error
		text, err = state.PromptWithSuggestion(prompt, text, at)
		fmt.Fprint(e.stdout, pasteOff)
		err = errors.Join(err, state.Close(), e.shown())
		e.resized.Store(false)
		if e.erased && err == nil {
			e.erased, at = false, min(e.at, utf8.RuneCountInString(text))
			continue
		}
		switch {
		case errors.Is(err, edit.ErrPromptAborted):
			return "", ErrInterrupted
		case errors.Is(err, io.EOF):
			fmt.Fprintln(e.stdout) // begin a new line
		}
		return strings.NewReplacer(string(lineBreak), "\n", string(tabulator), "\t").Replace(text), err
	}
}

// restoring restores the terminal before a signal ends the program, as the library does when a line ends,
// until stop is called. An ignored signal stays ignored.
func (e *editor) restoring() (stop func()) {
	fd := int(e.stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	ends := make(chan os.Signal, 1)
	done := make(chan struct{})
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ends, s)
		}
	}
	go func() {
		select {
		case s := <-ends:
			fmt.Fprint(e.stdout, pasteOff+"\r\n")
			_ = term.Restore(fd, before) // a terminal that was closed needs no restoring
			signal.Reset(s)
			_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(ends)
		close(done)
	}
}

// open creates a state of the library, which reads the terminal's size and os.Stdin at that time.
func (e *editor) open() *edit.State {
	os.Stdin = e.keys
	state := edit.NewLiner()
	os.Stdin = e.stdin
	// After a change of the window's size the library draws the line as if its rows were unchanged, over the
	// text above it; see watch.
	signal.Reset(syscall.SIGWINCH)
	state.SetMultiLineMode(true)
	state.SetCtrlCAborts(true)
	state.SetBeep(false)
	state.SetTabCompletionStyle(edit.TabPrints)
	for _, text := range e.history.messages {
		state.AppendHistory(strings.NewReplacer("\r\n", string(lineBreak), "\n", string(lineBreak), "\t", string(tabulator)).Replace(text))
	}
	return state
}

// watch redraws the line when the window's size changes. A Tab makes the library report the line and the
// cursor, and a Return ends the line, which is then begun again.
func (e *editor) watch(windows <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case <-windows:
			if !e.resized.Swap(true) {
				if _, err := e.feed.WriteString("\t"); err != nil {
					return
				}
			}
		case <-done:
			return
		}
	}
}

// complete is called when Tab is pressed. It completes a line that begins with a slash, or removes the line
// from the window.
func (e *editor) complete(prompt, line string, pos int) (head string, list []string, tail string) {
	if e.resized.Load() {
		e.erase(prompt, line, pos)
		return line, nil, ""
	}
	if strings.HasPrefix(line, "/") && pos == utf8.RuneCountInString(line) {
		head, list = e.completer(line)
	}
	return head, list, ""
}

// erase removes the line from the window, whose rows end at other places after the resize, and has the
// library end the line without output.
func (e *editor) erase(prompt, line string, pos int) {
	e.erased, e.at = true, pos
	if columns, _, err := term.GetSize(int(e.stdout.Fd())); err == nil && columns > 0 {
		if up := columnsOf(prompt+string([]rune(line)[:pos]), columns) / columns; up > 0 {
			fmt.Fprintf(e.stdout, "\x1b[%dA", up)
		}
	}
	fmt.Fprint(e.stdout, "\r\x1b[J")
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = nowhere // the library writes here until shown
	}
	_, _ = e.feed.WriteString("\r")
}

// shown makes the library write to the terminal again.
func (e *editor) shown() (err error) {
	if os.Stdout != e.stdout {
		err = os.Stdout.Close()
		os.Stdout = e.stdout
	}
	return err
}

// columnsOf returns how many columns a text takes in a window, including columns that stay empty because a
// wide character does not fit at the end of a row.
func columnsOf(text string, columns int) (n int) {
	for _, r := range text {
		w := runewidth.RuneWidth(r)
		if w == 2 && n%columns == columns-1 {
			n++
		}
		n += w
	}
	return n
}
