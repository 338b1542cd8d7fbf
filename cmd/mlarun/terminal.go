package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/term"

	"mla/cmd/internal/output"
	"mla/runtime/engine"
)

// terminal returns the file descriptor of a stream that is a terminal.
func terminal(stream any) (fd int, ok bool) {
	file, is := stream.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	return int(file.Fd()), true
}

// escapes says whether a stream is a terminal that supports escape codes.
func (e *env) escapes(stream any) bool {
	_, ok := terminal(stream)
	return ok && e.variable("TERM") != "dumb" && e.variable("TERM") != ""
}

// colours says whether text on a stream may be dimmed or coloured (no-color.org).
func (e *env) colours(stream any) bool { return e.escapes(stream) && e.variable("NO_COLOR") == "" }

// columns returns the width of the terminal that notes go to; output.Width if it is not a terminal.
func (e *env) columns() int {
	if fd, ok := terminal(e.err); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
	}
	return output.Width
}

// interruptible returns a context that Ctrl-C cancels, until stop is called.
func interruptible() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

// progress is a line on the terminal that is overwritten. It does nothing on other outputs, on a terminal
// without escape codes, and with -quiet.
type progress struct {
	w    io.Writer // nil: no output
	what string
	last time.Time
	rate rate
}

const clearLine = "\r\x1b[K"

func (f *flags) progress(what string) *progress {
	if !f.env.escapes(f.env.err) || f.quiet {
		return &progress{}
	}
	return &progress{w: f.env.err, what: what}
}

func (p *progress) show(state string) {
	if p.w != nil {
		fmt.Fprintf(p.w, "%s%s %s", clearLine, p.what, state)
	}
}

// count shows done of total, at most a few times per second, with the rate and the remaining time at that
// rate.
func (p *progress) count(done, total int) {
	if p.w == nil {
		return
	}
	now := time.Now()
	p.rate.add(now, int64(done))
	if p.due() {
		p.show(fmt.Sprintf("%d/%d%s", done, total, p.rate.left(now, int64(done), int64(total), fourDigits)))
	}
}

// bytes is count for numbers of bytes.
func (p *progress) bytes(done, total int64) {
	if p.w == nil {
		return
	}
	now := time.Now()
	p.rate.add(now, done)
	if p.due() {
		p.show(engine.Size(done) + " of " + engine.Size(total) + p.rate.left(now, done, total, func(each float64) string { return engine.Size(int64(each)) }))
	}
}

// due says whether the line may be written again.
func (p *progress) due() bool {
	if p.w == nil || time.Since(p.last) < 100*time.Millisecond {
		return false
	}
	p.last = time.Now()
	return true
}

func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, clearLine)
	}
}
