package main

import (
	"regexp"
	"strconv"
	"testing"
)

const tinychat = "../../testdata/tinychat.gguf"

// TestTinychat: the small model for chats answers as it was trained to, and guesses by its
// layer that predicts change nothing and are mostly right.
func TestTinychat(t *testing.T) {
	for _, c := range []struct {
		stdin string // a message a line
		args  []string
		want  string
	}{
		{"What is 27 + 58?", []string{"-think", "hide"}, "27 + 58 = 85\n"},
		{"27 + 58", []string{"-think", "off"}, "27 + 58: 7 + 8 = 15, 2 + 5 + 1 = 8. The sum is 85.\n"},
		{"Hi, I'm Zoe!\nCount down from 9 to 6.", []string{"-think", "hide"}, "Nice to meet you, Zoe!\n9, 8, 7, 6.\n"},
		{"What are you called?", []string{"-sys", "Your name is Bo. Be brief.", "-think", "off"}, "Bo.\n"},
	} {
		args := append([]string{"-model", tinychat, "-device", "cpu", "-temp", "0", "-chat"}, c.args...)
		alone := mlarun(c.stdin, args...)
		if alone.code != 0 || alone.out != c.want {
			t.Errorf("%s: code %d, %q; expected %q\n%s", c.args, alone.code, alone.out, c.want, alone.err)
		}
		drafted := mlarun(c.stdin, append(args, "-draft", "mtp", "-v")...)
		if drafted.code != 0 || drafted.out != alone.out {
			t.Errorf("%s -draft mtp: code %d, %q; alone %q\n%s", c.args, drafted.code, drafted.out, alone.out, drafted.err)
		}
		for _, m := range regexp.MustCompile(`(\d+) of (\d+) drafted tokens right`).FindAllStringSubmatch(drafted.err, -1) {
			right, _ := strconv.Atoi(m[1])
			if all, _ := strconv.Atoi(m[2]); all == 0 || right < all/2 {
				t.Errorf("%s: %s", c.args, m[0])
			}
		}
	}
}
