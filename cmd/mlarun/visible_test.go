package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestVisible: nothing that steers a terminal passes, however it is cut; all else does.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain äöü 二 🙂\n\tand a tab":        "plain äöü 二 🙂\n\tand a tab",
		"\x1b]0;pwned\a\x1b[2J\b\r":         "␛]0;pwned␇␛[2J␈␍",
		"a\x00b\x7fc":                       "a␀b␡c",
		"\u009b2J \u0085\u0080\u009f\u00a0": "<009b>2J <0085><0080><009f>\u00a0",
		"\u202eevil\u202c \u2066x\u2069":    "<202e>evil<202c> <2066>x<2069>",
		"\x9b2J\xff\xc3(":                   "�2J��(",
		"👩‍👩‍👧 \u200b":                      "👩‍👩‍👧 \u200b",
	} {
		for size := 1; size <= len(text); size++ {
			var out strings.Builder
			v := &visible{w: &out}
			for at := 0; at < len(text); at += size {
				if n, err := v.Write([]byte(text[at:min(at+size, len(text))])); err != nil || n != min(size, len(text)-at) {
					t.Fatal(n, err)
				}
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q; want %q", text, size, out.String(), want)
			}
		}
	}
}

// evil is what a grammar makes the model write: a title, a cleared screen in both forms, a backspace, text turned round.
const evil = "\x1b]0;pwned\a\x1b[2J\u009b2J\b\u202eend"

// seen is evil on a terminal.
const seen = "␛]0;pwned␇␛[2J<009b>2J␈<202e>end"

// evilFlags make the shipped model write it.
func evilFlags(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evil.gbnf")
	rule := "root ::= \"\\x1b]0;pwned\\x07\\x1b[2J\\u009b2J\\x08\\u202eend\"\n"
	if err := os.WriteFile(path, []byte(rule), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-model", shipped, "-device", "cpu", "-temp", "0", "-n", "60", "-q", "-grammar", path}
}

// TestTerminalEvil: what a model writes does not steer the terminal, in a completion and in a chat. A pipe gets it
// unchanged.
func TestTerminalEvil(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), argsVariable+"="+strings.Join(append(evilFlags(t), "-p", "hello"), "\n"), "TERM=xterm")
		var out []byte
		if !terminal {
			var err error
			if out, err = cmd.Output(); err != nil || !strings.Contains(string(out), evil) {
				t.Errorf("a pipe: %q, %v; want %q", out, err, evil)
			}
			continue
		}
		tty, err := pty.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		defer tty.Close()
		for data := make([]byte, 4096); err == nil; {
			var n int
			n, err = tty.Read(data) // on Linux EIO, when the program has ended
			out = append(out, data[:n]...)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(string(out), seen) || strings.ContainsAny(string(out), "\a\b\u009b\u202e") || strings.Contains(string(out), "\x1b]") || strings.Contains(string(out), "\x1b[2J") {
			t.Errorf("a terminal: %q, %v; want %q", out, err, seen)
		}
	}
	s := chatOn(t, "xterm", t.TempDir(), append(evilFlags(t)[6:], "-history", "off")...)
	s.expect(shownPrompt, 1)
	s.send("hello\r")
	s.expect(seen, 1)
	if text := s.shown(); strings.Contains(text, "\x1b]") || strings.Contains(text, "\x1b[2J") || strings.ContainsAny(text, "\a\u009b\u202e") {
		t.Errorf("a chat: %q", text)
	}
}
