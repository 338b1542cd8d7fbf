//go:build deep

package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a browser may take for one action on a busy machine.
const patience = time.Minute

// tab is a page of the server in headless Chromium.
type tab struct {
	*testing.T
	ctx context.Context
	mu  sync.Mutex
	// complaints are errors that the page had, among them what its policy has blocked.
	complaints []string
}

// openBrowser starts Chromium, which scripts/tools.sh installs on Debian. On other systems it starts Chrome.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.WindowSize(1280, 860), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 { // its sandbox refuses root
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%v; this test needs Chromium or Chrome: apt-get install chromium", err)
	}
	return ctx
}

// open loads the page of a server.
func open(t *testing.T, browser context.Context, url string) *tab {
	t.Helper()
	b := &tab{T: t}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // a limit on the first one's time would be the browser's
		t.Fatal(err)
	}
	b.ctx, cancel = context.WithTimeout(ctx, 3*patience)
	t.Cleanup(cancel)
	b.run(call(log.Enable, cdp.Empty{}), call(page.Enable, page.EnableParams{}), chromedp.Navigate(url))
	return b
}

// call returns a command of Chromium's protocol as an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// listen records the errors of the page, and confirms its questions.
func (b *tab) listen(event any) {
	complaint := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error()
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
			complaint = e.Entry.URL + ": " + e.Entry.Text
		}
	case *page.EventJavascriptDialogOpening:
		if e.Type == page.DialogTypeAlert {
			complaint = "alert: " + e.Message
		}
		go func() {
			_ = chromedp.Do(b.ctx, call(page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}))
		}()
	}
	if complaint != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, complaint)
	}
}

type action = chromedp.Action[chromedp.Void]

func (b *tab) run(actions ...action) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// press, click, script and fill are the actions of tests. They act on the first element that a selector finds.
func press(selector, keys string) action { return chromedp.SendKeys(chromedp.CSS(selector), keys) }
func click(selector string) action {
	return chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)
}
func script(text string) action { return chromedp.Evaluate[chromedp.Void](text) }
func fill(selector, text string) action {
	return script(fmt.Sprintf("(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('change')); })()", selector, text))
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%v in %s", err, expression)
	}
	return out
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.Helper()
	for end := time.Now().Add(patience); !eval[bool](b, "Boolean("+expression+")"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("waited in vain for %s; the page is %q", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// say sends a message and waits for the end of the answer.
func (b *tab) say(text string) {
	b.Helper()
	n := eval[int](b, "document.querySelectorAll('.message').length")
	b.run(press("#input", text+kb.Enter))
	b.until(fmt.Sprintf("document.querySelectorAll('.message').length === %d && !document.querySelector('.running')", n+2))
}

// click clicks on the button with a text, the last of them.
func (b *tab) click(text string) {
	b.Helper()
	b.until(fmt.Sprintf("(() => { const x = [...document.querySelectorAll('button')].findLast((x) => x.textContent.trim() === %q && x.checkVisibility()); x?.click(); return x; })()", text))
}

// last returns what the last message shows.
func (b *tab) last(selector string) string {
	b.Helper()
	return eval[string](b, fmt.Sprintf("[...document.querySelectorAll('.message')].at(-1).querySelector(%q).innerText", selector))
}

// quiet fails if the page had errors.
func (b *tab) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.Errorf("the page complains:\n%s", strings.Join(b.complaints, "\n"))
	}
}

// show sets the size and the colours of the window.
func (b *tab) show(width, height int64, colours string) {
	b.Helper()
	b.run(chromedp.EmulateViewport(width, height),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}}))
}

// picture saves a picture of the page in the folder that MLA_PICTURES names.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("MLA_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}
