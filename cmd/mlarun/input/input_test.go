package input

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlain: messages of a pipe, of one line or of several between quotes.
func TestPlain(t *testing.T) {
	text := "one\r\n\"\"\"two\nlines\"\"\"\n\"\"\"\n  kept\n\n\"\"\"\nsay \"\"\"this\"\"\"\n\"\"\"\"\"\"\nlast"
	r := Plain(strings.NewReader(text), nil)
	for _, want := range []string{"one", "two\nlines", "  kept\n", `say """this"""`, ""} {
		if got, err := r.Read(); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := r.Read(); !errors.Is(err, io.EOF) || got != "last" {
		t.Errorf("%q, %v; want the last line and the end", got, err)
	}
	if got, err := Plain(strings.NewReader("\"\"\"a\nb"), nil).Read(); !errors.Is(err, io.EOF) || got != "a\nb" {
		t.Errorf("a message without an end: %q, %v", got, err)
	}
}

// TestLongLine: a line without an end is no reason to take all memory.
func TestLongLine(t *testing.T) {
	if _, err := Plain(endless{}, nil).Read(); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var pastes = []struct{ in, want string }{
	{"abc\r", "abc\r"},
	{"\x1b[A\x1b[200~a\nb\r\nc\rd\te\x1b[201~f\r", "\x1b[Aa␤b␤c␤d␉ef\r"},
	{"\x1b[200~二\x03\x1b[A\x04\x1b[201~\x03", "二[A\x03"},
	{"\x1b[200~\r\x1b[201~\n", "␤\n"},
	{"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", "ab"},
	{"\x1b[201~", "\x1b[201~"}, // pasted without a beginning: a key that nobody has
}

// TestPaste: what is pasted holds no keys, however it is cut into pieces.
func TestPaste(t *testing.T) {
	for _, tt := range pastes {
		for n := range len(tt.in) {
			var p pasted
			got := string(p.push([]byte(tt.in[:n])))
			// A key may begin like a marker, and is not to wait for what does not come:
			// cut there, the paste is not seen as one.
			if !p.inside && (strings.HasSuffix(got, "\x1b") || strings.HasSuffix(got, "\x1b[")) {
				continue
			}
			got += string(p.push([]byte(tt.in[n:])))
			if got != tt.want {
				t.Errorf("%q at %d: %q; want %q", tt.in, n, got, tt.want)
			}
		}
	}
}

// FuzzPaste: nothing that is pasted can end a line or be a control code.
func FuzzPaste(f *testing.F) {
	for _, tt := range pastes {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		text := strings.ReplaceAll(string(data), "\x1b", "")
		at = max(0, min(at, len(text)))
		var p pasted
		out := p.push([]byte(pasteBegin + text[:at]))
		out = append(out, p.push([]byte(text[at:]+pasteEnd))...)
		if strings.ContainsFunc(string(out), func(r rune) bool { return r < ' ' || r == 0x7f }) || p.inside || len(p.held) > 0 {
			t.Errorf("%q: %q", text, out)
		}
	})
}

// TestHistory is kept in a file, across runs, private and bounded.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "mla", "history")
	h := OpenHistory(path)
	for _, text := range []string{"one", "two\n二", "two\n二", " \n", strings.Repeat("x", longest+1), "three"} {
		h.Add(text)
	}
	other := OpenHistory(path)
	other.Add("four")
	again := OpenHistory(path)
	if got := strings.Join(again.messages, "|"); got != "one|two\n二|three|four" {
		t.Errorf("%q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A file that has grown is made shorter; what is no message in it is left out.
	long := strings.Repeat("not JSON\n", mostBytes/9) + "\"a\"\n" + strings.Repeat("\"b\"\n\"c\"\n", mostMessages)
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	again = OpenHistory(path)
	if info, err := os.Stat(path); err != nil || len(again.messages) != mostMessages || info.Size() != 4*mostMessages || info.Mode().Perm() != 0o600 {
		t.Errorf("%d messages, %v, %v", len(again.messages), info, err)
	}
}

// TestHistoryWithoutFile: where there can be no file, there is a history all the same.
func TestHistoryWithoutFile(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{"", folder, filepath.Join(os.DevNull, "x")} {
		h := OpenHistory(path)
		h.Add("one")
		if len(h.messages) != 1 {
			t.Errorf("%q: %q", path, h.messages)
		}
	}
	for want, variables := range map[string]map[string]string{
		"/s/mla/history":              {"XDG_STATE_HOME": "/s", "HOME": "/h"},
		"/h/.local/state/mla/history": {"XDG_STATE_HOME": "relative", "HOME": "/h"},
		"":                            {},
	} {
		if got := DefaultHistory(func(name string) string { return variables[name] }); got != want {
			t.Errorf("%v: %q", variables, got)
		}
	}
}

// TestColumns: a wide character that does not fit the end of a row leaves a column empty.
func TestColumns(t *testing.T) {
	for _, tt := range []struct {
		text    string
		columns int
		want    int
	}{{"", 10, 0}, {"> ab", 10, 4}, {"> 二二二二", 10, 10}, {"> 二二二二", 9, 11}, {"> 二二二二", 5, 12}, {"> e\u0301", 10, 3}} {
		if got := columnsOf(tt.text, tt.columns); got != tt.want {
			t.Errorf("%q in %d: %d, want %d", tt.text, tt.columns, got, tt.want)
		}
	}
}
