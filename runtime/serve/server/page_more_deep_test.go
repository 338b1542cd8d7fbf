//go:build deep

package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mla/runtime/serve/completion/completiontest"
)

// formulas are maths as models write it, between texts that only look like maths.
const formulas = "The area is \\(a^2 + b^2 = c^2\\), sorting takes $O(n \\log n)$ steps, and it costs $5 or $10.\n\n" +
	"$$\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}$$\n\n\\[\n\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}\n- \\mathbb{R}\n\\]\n\n" +
	"Broken: $\\frac{1}{$ and open: \\(x\n\n```go\nfunc main() { fmt.Println(\"x\", 42) } // says x\n```\n\n```py\nprint('x')"

// testPageMaths checks that formulas use the page's own fonts, that code has colours, and that neither can
// run code.
func testPageMaths(t *testing.T, browser context.Context) {
	const attack = `\(\href{javascript:hacked=1}{x} \includegraphics{https://evil.example/x.png} \htmlStyle{color:red}{y}\)` +
		"\n\n$$\\def\\a{\\a\\a}\\a$$\n\n```js\n<img src=x onerror=hacked=1>\n```\n\n" + `\(\rule{9999em}{9999em}\)`
	s := serve(t, nil, completiontest.Answer{To: "Maths", Text: "x</think>" + formulas}, completiontest.Answer{To: "Attack", Text: "x</think>" + attack})
	b := open(t, browser, s.url)
	b.say("Maths")
	b.until("document.querySelectorAll('.assistant .katex').length === 4 && document.querySelector('.hl-keyword')")
	if got := eval[[]string](b, "[...document.querySelectorAll('.maths[aria-label]')].map((e) => e.getAttribute('aria-label'))"); !slices.Contains(got, `O(n \log n)`) || !slices.Contains(got, "a^2 + b^2 = c^2") {
		t.Errorf("formulas %q", got)
	}
	text := b.last(".text:not(.thinking .text)")
	for _, part := range []string{"it costs $5 or $10.", `Broken: $\frac{1}{$ and open: \(x`} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
	if n := eval[int](b, "document.querySelectorAll('div.maths .katex-display').length"); n != 2 {
		t.Errorf("%d formulas of their own", n)
	}
	if !eval[bool](b, "document.fonts.ready.then(() => document.fonts.check('16px KaTeX_Main') && [...document.fonts].some((f) => f.family === 'KaTeX_Math' && f.status === 'loaded'))") {
		t.Error("the fonts of maths are not there")
	}
	if got := eval[[]string](b, "[...document.querySelectorAll('pre code')].map((e) => e.textContent + '|' + e.querySelectorAll('span').length)"); len(got) != 2 ||
		!strings.HasPrefix(got[0], "func main() { fmt.Println(\"x\", 42) } // says x|") || got[1] != "print('x')|0" { // which is not closed yet
		t.Errorf("code %q", got)
	}
	for _, colours := range []string{"light", "dark"} {
		b.show(1280, 860, colours)
		b.picture("maths-" + colours)
	}
	b.show(390, 844, "light")
	b.picture("maths-phone")
	if over := eval[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => !e.closest('pre, .table, .katex') && e.getBoundingClientRect().right > 390.5 && e.checkVisibility()).map((e) => e.outerHTML.slice(0, 80))`); len(over) > 0 {
		t.Errorf("wider than a phone: %q", over)
	}
	b.say("Attack")
	b.until("[...document.querySelectorAll('.message')].at(-1).querySelector('.hl-keyword, .hl-name, .hl-tag, pre span')")
	found := eval[[]string](b, `[...document.querySelectorAll('.message .text *')].flatMap((e) => [
		...(/^(A|IMG|SCRIPT|IFRAME|STYLE)$/.test(e.tagName) ? [e.tagName] : []), ...[...e.attributes].filter((x) => x.name.startsWith('on') || x.name === 'src' || x.name === 'href').map((x) => x.name)])`)
	if len(found) > 0 || eval[bool](b, "'hacked' in window") {
		t.Errorf("formulas and code make %q", found)
	}
	b.quiet()
}

// testPageFiles checks that text files are sent before the message, and that other files are not sent.
func testPageFiles(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "notes.txt\n````\na ``` b\n````\n\nSum up", Text: "x</think>It says a and b."})
	b := open(t, browser, s.url)
	b.until("document.getElementById('model-name').textContent === 'tiny'")
	choose := func(files string) action {
		return script(`(() => { const d = new DataTransfer(); for (const [n, t] of ` + files + `) d.items.add(new File([t], n));
			const e = document.getElementById('files'); e.files = d.files; e.dispatchEvent(new Event('change')); })()`)
	}
	b.run(choose("[['notes.txt', 'a ``` b\\r\\n'], ['x.bin', new Uint8Array([1, 0, 255])], ['large.txt', 'x'.repeat(600 << 10)], ['zero.txt', 'a\\0b']]"))
	b.until("document.querySelectorAll('#attached .chip').length === 1 && !document.getElementById('notice').hidden")
	if got := eval[string](b, "document.getElementById('notice').textContent"); got != "x.bin is no text file. large.txt is larger than 512 KiB. zero.txt is no text file." {
		t.Errorf("%q", got)
	}
	b.picture("attached")
	b.say("Sum up")
	if got := b.last(".text:not(.thinking .text)"); got != "It says a and b." {
		t.Errorf("%q", got)
	}
	b.run(chromedp.Reload())
	b.until("document.querySelector('.user .file')")
	if got := eval[string](b, "document.querySelector('.user .file summary').innerText + '|' + document.querySelector('.user > .text').innerText"); got != "📄 notes.txt 8 characters|Sum up" {
		t.Errorf("%q", got)
	}
	b.quiet()
}

// testPageList checks that conversations are found by their texts, get names, and can be exported and
// imported.
func testPageList(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "Apple", Text: "x</think>A fruit."}, completiontest.Answer{To: "Stone", Text: "x</think>Hard."})
	b := open(t, browser, s.url)
	titles := func() []string {
		return eval[[]string](b, "[...document.querySelectorAll('#conversations .open')].map((e) => e.textContent)")
	}
	b.say("Apple")
	b.click("+ New conversation")
	b.say("Stone")
	b.run(script("(() => { const e = document.getElementById('search'); e.value = 'FRUIT'; e.dispatchEvent(new Event('input')); })()"))
	if got := titles(); !slices.Equal(got, []string{"Apple"}) {
		t.Errorf("found %q", got)
	}
	b.run(click("#conversations .rename"), press("#conversations input", " <b>pie</b>"))
	b.run(script("(() => { const e = document.querySelector('#conversations input'); e.value = 'Pie <b>'; e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})); })()"))
	b.run(script("(() => { const e = document.getElementById('search'); e.value = ''; e.dispatchEvent(new Event('input')); })()"))
	if got := titles(); !slices.Equal(got, []string{"Stone", "Pie <b>"}) {
		t.Errorf("after a new name: %q", got)
	}
	b.show(1280, 860, "light")
	b.picture("list")
	// What is exported can be imported, here into an empty browser.
	b.run(script(`(async () => {
		const saved = JSON.stringify(Object.keys(localStorage).filter((k) => k.startsWith('mla.chat.')).map((k) => JSON.parse(localStorage[k])));
		localStorage.clear();
		const d = new DataTransfer();
		d.items.add(new File(['{'], 'broken.json'));
		d.items.add(new File([saved.replace(']}]', ']}, {"id": 1}]')], 'conversations.json'));
		const e = document.getElementById('import-files');
		e.files = d.files;
		e.dispatchEvent(new Event('change'));
	})()`))
	b.until("document.getElementById('notice').textContent.includes('imported')")
	if got := titles(); !slices.Equal(got, []string{"Stone", "Pie <b>"}) {
		t.Errorf("imported %q: %q", got, eval[string](b, "document.getElementById('notice').textContent"))
	}
	b.click("Pie <b>")
	if got := b.last(".text:not(.thinking .text)"); got != "A fruit." {
		t.Errorf("%q", got)
	}
	b.quiet()
}

// testPageBranches checks that an earlier message which is edited keeps the messages after it, with their own
// branches.
func testPageBranches(t *testing.T, browser context.Context) {
	var answers []completiontest.Answer
	for _, name := range []string{"Four", "Three", "Two", "One"} {
		answers = append(answers, completiontest.Answer{To: name, Text: "x</think>This is " + strings.ToLower(name) + "."})
	}
	s := serve(t, nil, answers...)
	b := open(t, browser, s.url)
	b.say("One")
	b.say("Two")
	edit := func(which int, text string) {
		b.run(script(fmt.Sprintf("[...document.querySelectorAll('.user')][%d].querySelectorAll('.buttons button')[1].click()", which)))
		b.run(fill(".edit textarea", text), press(".edit textarea", kb.Enter))
		b.until(fmt.Sprintf("document.querySelectorAll('.message').length === %d && !document.querySelector('.running')", 2*which+2))
	}
	texts := func() string {
		return eval[string](b, "[...document.querySelectorAll('.message > .text')].map((e) => e.innerText).join(' ') + ' ' + [...document.querySelectorAll('.branch')].map((e) => e.innerText).join(',')")
	}
	expect := func(want string) {
		t.Helper()
		if got := texts(); got != want {
			t.Errorf("%q; expected %q", got, want)
		}
	}
	edit(1, "Three")
	expect("One This is one. Three This is three. 2 / 2")
	edit(0, "Four")
	expect("Four This is four. 2 / 2")
	b.picture("branches")
	go1 := "document.querySelector('.buttons [aria-label=\"Branch before\"]').click()"
	b.run(script(go1))
	expect("One This is one. Three This is three. 1 / 2,2 / 2")
	b.run(script("[...document.querySelectorAll('.buttons [aria-label=\"Branch before\"]')].at(-1).click()"))
	expect("One This is one. Two This is two. 1 / 2,1 / 2")
	b.run(chromedp.Reload())
	b.until("document.querySelectorAll('.message').length === 4")
	b.run(script("document.querySelector('.buttons [aria-label=\"Next branch\"]').click()"))
	expect("Four This is four. 2 / 2")
	b.run(script("(() => { const e = document.getElementById('search'); e.value = 'three'; e.dispatchEvent(new Event('input')); })()"))
	if n := eval[int](b, "document.querySelectorAll('#conversations .open').length"); n != 1 {
		t.Error("a text of another branch is not found")
	}
	b.quiet()
}

// testPageEdges checks that the close button of the settings is visible, and that Send ends where the text
// ends.
func testPageEdges(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "Hello", Text: "x</think>" + strings.Repeat("Yes.\n\n", 60)})
	b := open(t, browser, s.url)
	b.say("Hello")
	for _, size := range [][2]int64{{1280, 800}, {390, 844}, {390, 500}} {
		b.show(size[0], size[1], "light")
		if got := eval[float64](b, "Math.abs(document.getElementById('send').getBoundingClientRect().right - document.querySelector('.message').getBoundingClientRect().right)"); got > 1 {
			t.Errorf("%v: Send ends %v px beside the text", size, got)
		}
		b.run(script("document.getElementById('open-settings').click()"))
		if got := eval[int](b, "[...document.querySelectorAll('#settings button[value=close]')].filter((e) => e.getBoundingClientRect().bottom <= innerHeight && e.getBoundingClientRect().top >= 0).length"); got != 2 {
			t.Errorf("%v: %d buttons that close the settings are in sight", size, got)
		}
		b.picture(fmt.Sprintf("settings-%d", size[0]))
		b.run(script("document.getElementById('settings').close()"))
	}
	b.quiet()
}
