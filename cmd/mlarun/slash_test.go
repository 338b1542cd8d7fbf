package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/gguf"
)

// TestSlash: the commands of a chat, from a pipe.
func TestSlash(t *testing.T) {
	folder := t.TempDir()
	text, saved, foreign, role := filepath.Join(folder, "text"), filepath.Join(folder, "chat.json"), filepath.Join(folder, "mine"), filepath.Join(folder, "role")
	for path, data := range map[string]string{text: "a text\n", foreign: "{}", role: `{"format": "mla chat 1", "messages": [{"role": "root", "content": ""}]}`} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := []string{
		"/stats", "/ctx", "/read " + text, "/read /nonexistent", "\"\"\"\nwhat\nis it?\"\"\"", "/stats", "/ctx", "/save " + saved, "/save " + foreign, "/load " + role,
		"/set top-k 3", "/set top-k -3", "/set model x", "/set", "/clear", "/load " + saved, "//slash", "/load /nonexistent", "/quit",
	}
	r := chatWith(strings.Join(lines, "\n"), "-chat", "-think", "off", "-c", "4096")
	for _, want := range []string{
		"There is no answer yet.", "0 of 4096 tokens (0 %), 0 messages", "text, 7 bytes, goes before your next message.", "/read: open /nonexistent", "first token ", " of 4096 tokens (",
		"2 messages in " + saved, "mine is no conversation that /save wrote, and is not written over", `role: message 1 has the role "root"`,
		"top-k is 3.", "top-k is -3, expected 0 (off) or more", `there is no "model"`, "top-k                3\n", "2 messages.\n", "/load: open /nonexistent",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %q", want)
		}
	}
	if got := said(t, saved); len(got) != 1 || got[0] != "a text\n\nwhat\nis it?" {
		t.Errorf("%q", got)
	}
	if data, err := os.ReadFile(foreign); err != nil || string(data) != "{}" {
		t.Errorf("a foreign file is now %q, %v", data, err)
	}
	if r.code != 0 || t.Failed() {
		t.Errorf("code %d\n%s", r.code, r.err)
	}
}

// TestTemplates: the template of a file counts where its bundle has no chat, that of
// -chat-template before it, and one that fails does not end a chat.
func TestTemplates(t *testing.T) {
	template := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(template, []byte("{% for m in messages %}{% if m.content == 'bad' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}{% endfor %} = "), 0o600); err != nil {
		t.Fatal(err)
	}
	own := withMeta(t, gguf.KV{Key: "tokenizer.chat_template", Value: gguf.String("{% for m in messages %}// {{ m.content }}\n{% endfor %}func ")})
	args := []string{"-sys", "x", "-p", "hello", "-n", "8", "-temp", "0", "-quiet"}
	if r := mlarun("", append(args, "-model", shipped)...); r.code != 1 || !strings.Contains(r.err, "has no chat format") {
		t.Errorf("without a template: code %d, %s", r.code, r.err)
	}
	empty := filepath.Join(t.TempDir(), "empty.jinja")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := mlarun("", append(args, "-model", own, "-chat-template", empty)...); r.code != 1 || !strings.Contains(r.err, "empty.jinja is empty; expected a chat template") {
		t.Errorf("with an empty template: code %d, %s", r.code, r.err)
	}
	file := mlarun("", append(args, "-model", own)...)
	given := mlarun("", append(args, "-model", own, "-chat-template", template)...)
	if file.code != 0 || given.code != 0 || file.out == given.out || file.out == "" {
		t.Errorf("%+v\n%+v", file, given)
	}
	if r := mlarun("", "-model", own, "-sys", "x", "-p", "hello", "-temp", "0", "-c", "160"); r.code != 0 || strings.Contains(r.err, "end: length") {
		t.Errorf("an answer has no limit but the context: code %d\n%s", r.code, r.err)
	}
	plain := mlarun("", "-model", own, "-raw", "-p", "// x\n// hello\nfunc ", "-n", "8", "-temp", "0", "-quiet")
	if file.out != plain.out+"\n" {
		t.Errorf("%q; as a text %q", file.out, plain.out)
	}
	if r := mlarun("bad\nhello\n", "-model", own, "-chat", "-chat-template", template, "-n", "4", "-v"); r.code != 0 || !strings.Contains(r.err, "tokenizer.chat_template: ") || strings.Count(r.err, "generated 4") != 1 {
		t.Errorf("a template that fails: code %d\n%s", r.code, r.err)
	}
}

// TestThinking: thoughts are no part of an answer, end within their budget, and go to
// stderr if they are asked for where no terminal is.
func TestThinking(t *testing.T) {
	run := func(think string, more ...string) result {
		return with(generated.Bundles(), "", append([]string{"-model", shipped, "-sys", "x", "-p", "func main() {", "-temp", "0", "-n", "30", "-quiet",
			"-chat-template", thinkTemplate(t), "-think", think}, more...)...)
	}
	hidden, shown, off := run("on,4"), run("on,4,show"), run("off")
	if hidden.code != 0 || hidden.out == "" || hidden.err != "" || strings.Contains(hidden.out, "</think>") {
		t.Errorf("hidden: %+v", hidden)
	}
	if shown.out != hidden.out || !strings.HasPrefix(shown.err, "(thinking)\n") || !strings.HasSuffix(shown.err, "\n(end of thinking)\n\n") {
		t.Errorf("shown: %+v", shown)
	}
	if off.code != 0 || off.err != "" || off.out == "" {
		t.Errorf("off: %+v", off)
	}
	jobs := run("on,4", "-parallel", "1")
	if jobs.code != 0 || !strings.Contains(jobs.out, `"reasoning_content":"`) || strings.Contains(jobs.out, "</think>") {
		t.Errorf("-parallel: %+v", jobs)
	}
}

func thinkTemplate(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jinja")
	if err := os.WriteFile(path, []byte("{% for m in messages %}{{ m.content }}\n{% endfor %}{% if enable_thinking %}<think>{% endif %}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestComplete: Tab completes commands, names of files where a command takes a file, flags and their values.
func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"text.md", "tests/one.json", ".hidden"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &conversation{settings: newSettings(&env{})}
	c.settings.addAliases()
	for line, want := range map[string]string{
		"/re": "/regen /read", "/read te": "/read |tests/ text.md", "/load tests/": "/load |tests/one.json", "/read ": "/read |tests/ text.md", "/save .h": "/save |.hidden",
		"/set top": "/set |top-k top-nsigma top-p", "/set mirostat ": "/set |mirostat 1 mirostat 2", "/think o": "/think |on off", "/stats x": "", "/none x": "", "/read none/": "/read |",
	} {
		head, list := c.complete(line)
		got := strings.Join(list, " ")
		if head != "" {
			got = head + "|" + got
		}
		if got != want {
			t.Errorf("%q: %q; want %q", line, got, want)
		}
	}
}
