package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// shownPrompt is what comes before a line is read on a terminal that can edit.
const shownPrompt = "\x1b[?2004h> "

// session is a chat on a terminal.
type session struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer // all that was shown
}

// chatOn talks to the shipped model on a terminal of a kind. All output is taken, as a
// terminal would.
func chatOn(t *testing.T, kind, state string, args ...string) *session {
	t.Helper()
	template := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(template, []byte("{% for m in messages %}{{ m.content }}\n{% endfor %}{% if enable_thinking %}<think>{% endif %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-model", shipped, "-device", "cpu", "-c", "512", "-chat", "-n", "6", "-temp", "0", "-chat-template", template}, args...)
	s := &session{t: t, cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(args, "\n"), "TERM="+kind, "XDG_STATE_HOME="+state, "NO_COLOR=")
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 41}); err != nil {
		t.Fatal(err)
	}
	go func() {
		data := make([]byte, 4096)
		for {
			n, err := s.tty.Read(data)
			s.mu.Lock()
			s.text.Write(data[:n])
			s.mu.Unlock()
			if err != nil { // on Linux EIO, when the program has ended
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.tty.Close()
	})
	return s
}

func (s *session) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// expect waits until a text has been shown so often.
func (s *session) expect(text string, times int) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); strings.Count(s.shown(), text) < times; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("no %q, %d times, in %q", text, times, s.shown())
		}
	}
}

func (s *session) send(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// said are the user's messages that /save has written.
func said(t *testing.T, path string) (list []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c chatFile
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		if m.Role == "user" {
			list = append(list, m.Content)
		}
	}
	return list
}

// TestTerminal edits messages as on a terminal: wide characters, a paste of three lines, a
// window that changes its width with the cursor inside a line, Ctrl-C, several lines, and
// the history of the run before.
func TestTerminal(t *testing.T) {
	t.Parallel()
	state, path := t.TempDir(), filepath.Join(t.TempDir(), "chat.json")
	s := chatOn(t, "xterm", state)
	s.expect(shownPrompt, 1)
	s.send("你好世界\x7f\x1b[D\x7f好\r") // Backspace, left, Backspace
	s.expect(shownPrompt, 2)
	s.send("dropped\x03")
	s.expect(shownPrompt, 3)
	s.send("\x1b[200~one\n\ttwo 二\rthree\x1b[201~\r")
	s.expect(shownPrompt, 4)
	s.send("一二三四五六七八九十一二三四五六七八九十end\x1b[D\x1b[D\x1b[D")
	s.expect("end", 1)
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 24, Cols: 31}); err != nil {
		t.Fatal(err)
	}
	s.expect("\x1b[1A\r\x1b[J", 1) // the line takes two rows, and is taken away
	s.expect(shownPrompt, 5)
	s.send("X\r")
	s.expect(shownPrompt, 6)
	s.send("\"\"\"\ra\rb\"\"\"\r")
	s.expect(shownPrompt, 7)
	s.send("/save " + path + "\r")
	s.expect("8 messages in", 1)
	s.expect(shownPrompt, 8)
	s.send("\x04")
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("%v\n%q", err, s.shown())
	}
	want := []string{"你好世", "one\n\ttwo 二\nthree", "一二三四五六七八九十一二三四五六七八九十Xend", "a\nb"}
	if got := said(t, path); !slices.Equal(got, want) {
		t.Errorf("%q\nexpected %q\n%q", got, want, s.shown())
	}
	s = chatOn(t, "xterm", state)
	s.expect(shownPrompt, 1)
	s.send("\x1b[A\x1b[A\x1b[A!\r") // /save, a b, then the long line
	s.expect(shownPrompt, 2)
	s.send("/save " + path + "\r")
	s.expect(shownPrompt, 3)
	s.send("/quit\r")
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := said(t, path); !slices.Equal(got, []string{want[2] + "!"}) {
		t.Errorf("of the history: %q", got)
	}
}

// TestTerminalThinking: thoughts are dim, end within their budget, and leave no marker.
func TestTerminalThinking(t *testing.T) {
	t.Parallel()
	s := chatOn(t, "xterm", t.TempDir(), "-think", "on,3", "-history", "off", "-n", "40", "-top-k", "1")
	s.expect(shownPrompt, 1)
	s.send("func main() {\r")
	s.expect(shownPrompt, 2)
	text := s.shown()
	_, thoughts, begun := strings.Cut(text, dimOn)
	last := strings.LastIndex(thoughts, dimOff)
	if !begun || last < 0 {
		t.Fatalf("%q", text)
	}
	thoughts, answer := thoughts[:last], thoughts[last+len(dimOff):]
	if strings.Count(text, dimOn) != strings.Count(text, dimOff) || strings.TrimSpace(thoughts) == "" || strings.TrimSpace(answer) == "" || strings.Contains(text, "</think>") {
		t.Errorf("%q", text)
	}
}

// TestTerminalSignals: a signal that ends the program at its prompt leaves the terminal as it
// was.
func TestTerminalSignals(t *testing.T) {
	t.Parallel()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	want, err := term.GetState(int(master.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		s := chatOn(t, "xterm", t.TempDir())
		s.expect(shownPrompt, 1)
		s.send("half a line")
		s.expect("half a line", 1)
		if raw, err := term.GetState(int(s.tty.Fd())); err != nil || reflect.DeepEqual(raw, want) {
			t.Fatalf("%v while a line is edited: %v, %v", end, raw, err)
		}
		if err := s.cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
		defer late.Stop()
		if signal.Ignored(end) { // by who runs the tests, as nohup does: the program goes on
			s.send("\x15\x04") // an empty line, the end of the input
			if err := s.cmd.Wait(); err != nil {
				t.Errorf("%v, which is ignored: %v", end, err)
			}
			continue
		}
		if err := s.cmd.Wait(); err == nil || s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != end {
			t.Errorf("%v: %v", end, err)
		}
		if got, err := term.GetState(int(s.tty.Fd())); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: the terminal is %v, was %v; %v", end, got, want, err)
		}
		s.expect(pasteOff, 1)
	}
}

// pasteOff ends the marks around what is pasted.
const pasteOff = "\x1b[?2004l"

// TestTerminalDumb: a terminal without escape codes gets none.
func TestTerminalDumb(t *testing.T) {
	t.Parallel()
	s := chatOn(t, "dumb", t.TempDir(), "-think", "on,3")
	s.expect("> ", 1)
	s.send("hello\n")
	s.expect("(end of thinking)", 1)
	s.expect("> ", 2)
	s.send("\x04")
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if text := s.shown(); strings.Contains(text, "\x1b") || !strings.Contains(text, "(thinking)") {
		t.Errorf("%q", text)
	}
}
