//go:build deep

package server_test

import (
	"context"
	"testing"
)

// testPageTinychat has a conversation with tinychat on the page.
func testPageTinychat(t *testing.T, browser context.Context) {
	s := tinychat(t)
	b := open(t, browser, s.url)
	b.until("document.getElementById('model-name').textContent === 'tinychat'")
	for _, c := range []struct{ say, want string }{
		{"Hi, I'm Zoe!", "Nice to meet you, Zoe!"},
		{"What's my name?", "Your name is Zoe."},
		{"27 + 58", "27 + 58 = 85"},
		{"Count down from 9 to 6.", "9, 8, 7, 6."},
	} {
		b.say(c.say)
		if got := b.last(".text:not(.thinking .text)"); got != c.want {
			t.Errorf("%q: %q; expected %q", c.say, got, c.want)
		}
	}
	b.show(960, 540, "light")
	b.run(script("(() => { const e = document.getElementById('input'); e.value = ''; e.dispatchEvent(new Event('input')); e.blur(); const l = document.getElementById('log'); l.scrollTop = l.scrollHeight; })()"))
	b.picture("readme")
	b.run(click(".message:last-of-type summary"))
	b.say("Make a table of the first 4 multiples of 7.")
	b.until("[...document.querySelectorAll('.assistant td')].at(-1)?.innerText === '28'")
	b.show(1280, 860, "light")
	b.picture("tinychat")
	b.quiet()
}
