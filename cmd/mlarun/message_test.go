package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessage: a text is a message where the file has a chat template, unless -raw asks for its
// continuation; an answer ends with a line break.
func TestMessage(t *testing.T) {
	run := func(stdin string, args ...string) result {
		return mlarun(stdin, append([]string{"-m", tinychat, "-device", "cpu", "-temp", "0", "-quiet"}, args...)...)
	}
	const question, answer = "What is 27 + 58?", "27 + 58 = 85\n"
	file := filepath.Join(t.TempDir(), "question.txt")
	if err := os.WriteFile(file, []byte(question+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]result{"-p": run("", "-p", question), "-f": run("", "-f", file), "piped": run(question + "\n"), "-": run(question, "-")} {
		if r.code != 0 || r.out != answer {
			t.Errorf("%s: code %d, %q\n%s", name, r.code, r.out, r.err)
		}
	}
	raw := run("", "-raw", "-p", question, "-n", "40")
	if alias := run("", "-no-cnv", "-p", question, "-n", "40"); raw.code != 0 || !strings.Contains(raw.out, "</think>") || strings.HasSuffix(raw.out, "\n") || alias != raw {
		t.Errorf("-raw: %+v", raw)
	}
	if r := mlarun("", "-m", shipped, "-device", "cpu", "-temp", "0", "-quiet", "-p", "func ", "-n", "8"); r.code != 0 || strings.HasSuffix(r.out, "\n\n") {
		t.Errorf("a file without a template: %+v", r)
	}
	lines := run("What is 1 + 2?\n{\"prompt\": \"What is 27 + 58?\", \"n\": 3}\n", "-parallel", "2", "-")
	var first, second struct {
		Text, End string
		Tokens    int
	}
	d := json.NewDecoder(strings.NewReader(lines.out))
	if err := d.Decode(&first); err != nil || first.Text != "1 + 2 = 3" || first.End != "stop" {
		t.Errorf("%+v, %v\n%s", first, err, lines.err)
	}
	if err := d.Decode(&second); err != nil || second.Tokens != 3 || second.End != "length" {
		t.Errorf("%+v, %v", second, err)
	}
}

// TestInline: -json-schema and -grammar take a text or the name of a file.
func TestInline(t *testing.T) {
	const schema, grammar = `{"enum": ["left", "right"]}`, `root ::= "left" | "right"`
	dir := t.TempDir()
	args := []string{"-m", tinychat, "-device", "cpu", "-temp", "0", "-quiet", "-p", "Where?"}
	for flag, text := range map[string]string{"-json-schema": schema, "-grammar": grammar} {
		path := filepath.Join(dir, strings.TrimLeft(flag, "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		inline, file := mlarun("", append(args, flag, text)...), mlarun("", append(args, flag, path)...)
		if inline.code != 0 || inline != file || strings.Trim(inline.out, "\"\n") != "left" && strings.Trim(inline.out, "\"\n") != "right" {
			t.Errorf("%s: %+v, %+v", flag, inline, file)
		}
	}
	for flag, c := range map[string][2]string{"-json-schema": {`{"type": 5}`, "-json-schema: "}, "-grammar": {"root ::= (", "-grammar:1:"}} {
		if r := mlarun("", append(args, flag, c[0])...); r.code != 1 || !strings.Contains(r.err, c[1]) {
			t.Errorf("%s: %+v", flag, r)
		}
	}
}

// TestTurns: /regen answers once more, /undo takes a message back, /system shows and replaces.
func TestTurns(t *testing.T) {
	lines := []string{"/undo", "/regen", "/system", "/system Your name is Bo. Be brief.", "/system", "What are you called?", "/regen", "What is 1 + 2?", "/undo", "/ctx", "/undo", "/undo", "/quit"}
	r := mlarun(strings.Join(lines, "\n"), "-m", tinychat, "-device", "cpu", "-temp", "0", "-chat", "-think", "off")
	if r.code != 0 || !strings.HasPrefix(r.out, "Bo.\nBo.\n") {
		t.Errorf("code %d, %q", r.code, r.out)
	}
	for _, want := range []string{"/undo: there is no message yet", "/regen: there is no message yet", "There is no system message.", "The system message is replaced.\nYour name is Bo. Be brief.\n", ", 3 messages"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %q in\n%s", want, r.err)
		}
	}
	if n := strings.Count(r.err, "The last message is taken back."); n != 2 {
		t.Errorf("%d messages were taken back; want 2\n%s", n, r.err)
	}
}
