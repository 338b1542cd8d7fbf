package main

import (
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
)

// talking are the bundles with a chat format, which the reference models, not
// trained on conversations, do not have.
func talking() []*plan.Bundle {
	var out []*plan.Bundle
	for _, b := range generated.Bundles() {
		copied := *b
		copied.Model.ChatTemplate = "glm4"
		out = append(out, &copied)
	}
	return out
}

func chatWith(stdin string, args ...string) result {
	return with(talking(), stdin, append([]string{"-model", glm, "-temp", "0", "-n", "4"}, args...)...)
}

func TestChat(t *testing.T) {
	r := chatWith("hello\n/help\n/think\n\n/think off\n/think so\n/clear\n/nope\nhello\n/quit\nnot read\n", "-chat", "-v", "-think", "off")
	if r.code != 0 {
		t.Fatalf("code %d: %s", r.code, r.err)
	}
	for _, want := range []string{"/clear\n    start a new", "Thinking: off.", "Thinking: on.", `/think: is "so"; expected on, off`, "New conversation.", "Unknown command /nope"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	if turns := strings.Count(r.err, "generated "); turns != 2 {
		t.Errorf("%d answers; want 2:\n%s", turns, r.err)
	}
	// After /clear the same question has the same answer.
	if half := len(r.out) / 2; r.out[:half] != r.out[half:] || half < 2 {
		t.Errorf("answers %q", r.out)
	}
}

func TestChatReusesConversation(t *testing.T) {
	r := chatWith("one\ntwo", "-v", "-p", "zero", "-chat")
	if r.code != 0 || strings.Count(r.err, "generated ") != 3 || strings.Count(r.err, " more reused)") != 2 {
		t.Errorf("code %d\n%s", r.code, r.err)
	}
}

func TestChatContextIsFull(t *testing.T) {
	r := chatWith(strings.Repeat("long ", 40)+"\nhi\n", "-chat", "-c", "32", "-think", "off")
	if r.code != 0 || !strings.Contains(r.err, "do not fit the context of 32") || !strings.Contains(r.err, "/clear starts") || r.out == "" {
		t.Errorf("code %d, %q\n%s", r.code, r.out, r.err)
	}
}

func TestSystemMessage(t *testing.T) {
	plain, system := chatWith("", "-raw", "-p", "hello"), chatWith("", "-p", "hello", "-sys", "Be brief.", "-think", "on,show")
	if plain.code != 0 || system.code != 0 || plain.out == system.out {
		t.Errorf("codes %d, %d; the template changes nothing: %q", plain.code, system.code, system.out)
	}
	off := chatWith("", "-p", "hello", "-sys", "Be brief.", "-think", "off")
	if off.code != 0 || off.out == system.out || off.out == "" {
		t.Errorf("-think off changes nothing: %q\n%s", off.out, off.err)
	}
}
