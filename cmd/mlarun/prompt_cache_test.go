package main

import (
	"bytes"
	"mla/tools/tests/deep"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longText is some hundred tokens of the shipped model.
func longText(t *testing.T, n int) string {
	t.Helper()
	data, err := os.ReadFile("testdata/perplexity.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(data[:n])
}

// cached runs the shipped model with a prompt cache.
func cached(path, prompt string, more ...string) result {
	return mlarun("", append([]string{"-device", "cpu", "-model", shipped, "-n", "6", "-temp", "0", "-prompt-cache", path, "-p", prompt}, more...)...)
}

var restoredTokens = regexp.MustCompile(`prompt cache: (\d+) tokens restored in `)

const written = ", written in "

// TestPromptCache: a prompt that was run before is not run again, and goes on as it did.
func TestPromptCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	text := longText(t, 1500)
	first := cached(path, text)
	if first.code != 0 || restoredTokens.MatchString(first.err) || !strings.Contains(first.err, written) {
		t.Fatalf("code %d\n%s", first.code, first.err)
	}
	again := cached(path, text)
	if again.out != first.out || !strings.Contains(again.err, "prompt 1 token") || !restoredTokens.MatchString(again.err) || strings.Contains(again.err, written) {
		t.Errorf("%q; want %q\n%s", again.out, first.out, again.err)
	}
	scaled := cached(path+"8", text, "-kv", "q8_0")
	if again := cached(path+"8", text, "-kv", "q8_0"); again.out != scaled.out || !restoredTokens.MatchString(again.err) {
		t.Errorf("a cache of q8_0: %q; want %q\n%s", again.out, scaled.out, again.err)
	}
	// Another end: the rest is run, and the file stays as it is.
	before := must(os.ReadFile(path))
	other := cached(path, text[:1450]+" else")
	if want := cached(path+"2", text[:1450]+" else"); other.out != want.out || !restoredTokens.MatchString(other.err) || strings.Contains(other.err, written) || !bytes.Equal(must(os.ReadFile(path)), before) {
		t.Errorf("another end: %q; want %q\n%s", other.out, want.out, other.err)
	}
	// Much more: the file is written anew, and what is in it is what a run leaves that
	// began without a file.
	longer := cached(path, text+longText(t, 900))
	if want := cached(path+"3", text+longText(t, 900)); longer.out != want.out || !strings.Contains(longer.err, written) || !bytes.Equal(must(os.ReadFile(path)), must(os.ReadFile(path+"3"))) {
		t.Errorf("a longer one: %q; want %q\n%s", longer.out, want.out, longer.err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// TestPromptCacheRefused: a file that is damaged or foreign is named and made anew, and
// the text is what it is without one.
func TestPromptCacheRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	text := longText(t, 300) // a page and a half; f16 activations are slow on the CPU
	want := cached(path, text)
	good := must(os.ReadFile(path))
	if want.code != 0 {
		t.Fatal(want.err)
	}
	changed := func(at int) []byte {
		bad := bytes.Clone(good)
		bad[at] ^= 4
		return bad
	}
	type file struct {
		data     []byte
		more     []string
		want     string
		restores bool // what lies before the damage
	}
	files := []file{
		{good[:len(good)-1], nil, "it is cut off", false},
		{good[:20], nil, "it is cut off after 20 bytes", false},
		{nil, nil, "it is cut off after 0 bytes", false},
		{changed(100), nil, "the checksum of its header is wrong", false},
		{changed(9), nil, "it is of version ", false},
		{changed(len(good) - 100), nil, "the checksum of record ", true},
		{append(bytes.Clone(good), 1), nil, "1 bytes follow its end", false},
		{good, []string{"-kv", "f32"}, "it has a cache of type f16; this is f32", false},
		{good, []string{"-model", glm}, "it was made with another model file", false},
	}
	if deep.On { // slow under the race detector
		files = append(files, file{good, []string{"-act", "f16", "-n", "1"}, "it was made with bundle tinyglm; this is tinyglmf16", false})
	}
	for _, tt := range files {
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		r := cached(path, text, tt.more...)
		if r.code != 0 || !strings.Contains(r.err, "prompt cache "+path+": "+tt.want) || !strings.Contains(r.err, "; it is made anew\n") ||
			!strings.Contains(r.err, written) || restoredTokens.MatchString(r.err) != tt.restores || tt.more == nil && r.out != want.out {
			t.Errorf("%q: code %d, %q\n%s", tt.want, r.code, r.out, r.err)
		}
		if again := cached(path, text, tt.more...); again.out != r.out || !strings.Contains(again.err, "prompt 1 token") {
			t.Errorf("%q: the file that was made anew:\n%s", tt.want, again.err)
		}
	}
	if err := os.WriteFile(path, []byte("my notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := cached(path, text); r.code != 1 || r.out != "" || !strings.Contains(r.err, "is not a prompt cache; it is left as it is") || string(must(os.ReadFile(path))) != "my notes" {
		t.Errorf("somebody else's file: code %d\n%s", r.code, r.err)
	}
	if r := cached(filepath.Join(path, "x"), text); r.code != 1 || r.out != "" {
		t.Errorf("no folder: code %d\n%s", r.code, r.err)
	}
}

// TestPromptCacheChat: a conversation begins where the last one with the same system
// message has been.
func TestPromptCacheChat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	args := []string{"-sys", longText(t, 400), "-prompt-cache", path, "-n", "4", "-v"}
	first := chatWith("hello\nand then\n", append(args, "-chat")...)
	if first.code != 0 || !strings.Contains(first.err, written) {
		t.Fatalf("code %d\n%s", first.code, first.err)
	}
	for _, more := range [][]string{{"-chat"}, {"-p", "hello"}} {
		if again := chatWith("hello\nand then\n", append(args, more...)...); again.code != 0 || !restoredTokens.MatchString(again.err) || !strings.HasPrefix(first.out, strings.TrimSuffix(again.out, "\n")) {
			t.Errorf("%q: %q; want %q\n%s", more, again.out, first.out, again.err)
		}
	}
}

// TestPromptCacheBatch: what all prompts begin with is kept, and not run again.
func TestPromptCacheBatch(t *testing.T) {
	folder := t.TempDir()
	path, file := filepath.Join(folder, "cache"), filepath.Join(folder, "prompts")
	text := strings.ReplaceAll(longText(t, 600), "\n", " ")
	if err := os.WriteFile(file, []byte(text+"one\n"+text+"func\n"+text+"if x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(more ...string) (result, []answer) {
		r := mlarun("", append([]string{"-device", "cpu", "-model", shipped, "-n", "5", "-temp", "0", "-parallel", "2", "-f", file}, more...)...)
		if r.code != 0 {
			t.Fatal(r.err)
		}
		return r, answers(t, r.out)
	}
	_, want := run()
	first, _ := run("-prompt-cache", path)
	again, got := run("-prompt-cache", path)
	if !strings.Contains(first.err, written) || strings.Contains(again.err, written) || !restoredTokens.MatchString(again.err) || want[0].Reused != 0 || got[0].Reused < 128 {
		t.Errorf("of the first prompt %d tokens are found, without a file %d\n%s%s", got[0].Reused, want[0].Reused, first.err, again.err)
	}
	for i := range want {
		if got[i].Text != want[i].Text {
			t.Errorf("line %d: %q; want %q", i, got[i].Text, want[i].Text)
		}
	}
	short := filepath.Join(folder, "short")
	if r := mlarun("a\nb\n", "-device", "cpu", "-model", shipped, "-n", "2", "-parallel", "2", "-prompt-cache", short, "-"); r.code != 0 || strings.Contains(r.err, written) {
		t.Errorf("nothing in common: code %d\n%s", r.code, r.err)
	}
}
