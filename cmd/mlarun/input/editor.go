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

// Completer says what Tab may make of a line that begins with a slash: the head of the line stays,
// and an entry of the list follows it.
type Completer func(line string) (head string, list []string)

// Edited reads from the terminal of stdin and stdout, with a completer. The terminal is in raw
// mode only while a line is read, so that Ctrl-C interrupts an answer.
func Edited(h *History, complete Completer) (*Reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	e := &editor{history: h, completer: complete, keys: r, feed: w, stdin: os.Stdin, stdout: os.Stdout, next: make(chan struct{})}
	go e.pump()
	return &Reader{lines: e, history: h}, nil
}

// editor is a line editor. The library reads keys from a pipe, into which the editor puts
// what comes from the terminal, so that what is pasted is no command.
type editor struct {
	history       *History
	completer     Completer
	keys, feed    *os.File // the pipe's ends
	stdin, stdout *os.File
	next          chan struct{} // a line is wanted
	resized       atomic.Bool   // the window has another size than the line was drawn for
	erased        bool          // the line has been taken off the window, to be begun again
	at            int           // where the cursor was then, in runes
}

// pump passes on keys, up to the end of a line for each that is wanted.
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
			fmt.Fprintln(e.stdout) // what follows begins a line
		}
		return strings.NewReplacer(string(lineBreak), "\n", string(tabulator), "\t").Replace(text), err
	}
}

// restoring puts the terminal back before a signal ends the program, as the library does
// when a line ends; until stop is called. A signal that is ignored stays so.
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
			_ = term.Restore(fd, before) // a terminal that has gone needs none
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

// open makes a state of the library, which takes the terminal's size then. It reads what
// os.Stdin is at that time.
func (e *editor) open() *edit.State {
	os.Stdin = e.keys
	state := edit.NewLiner()
	os.Stdin = e.stdin
	// The library draws a line of a resized window as if its rows were those of before,
	// over what stands above it; see watch.
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

// watch has the line drawn anew in a window of another size: a Tab makes the library say
// what the line is and where its cursor, and a Return ends it, to be begun again.
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

// complete is called at a Tab: it completes what begins with a slash, or takes a line off the window.
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

// erase takes the line off the window, which has moved the ends of its rows, and has the
// library end it without a trace.
func (e *editor) erase(prompt, line string, pos int) {
	e.erased, e.at = true, pos
	if columns, _, err := term.GetSize(int(e.stdout.Fd())); err == nil && columns > 0 {
		if up := columnsOf(prompt+string([]rune(line)[:pos]), columns) / columns; up > 0 {
			fmt.Fprintf(e.stdout, "\x1b[%dA", up)
		}
	}
	fmt.Fprint(e.stdout, "\r\x1b[J")
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = nowhere // where the library writes, until shown
	}
	_, _ = e.feed.WriteString("\r")
}

// shown lets the library write on the terminal again.
func (e *editor) shown() (err error) {
	if os.Stdout != e.stdout {
		err = os.Stdout.Close()
		os.Stdout = e.stdout
	}
	return err
}

// columnsOf is how many columns a text takes in a window, with those that stay empty
// because a wide character does not fit the end of a row.
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
