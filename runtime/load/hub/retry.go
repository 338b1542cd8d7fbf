package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits on repeated attempts.
const (
	mostTries    = 5           // consecutive attempts without progress
	mostInAll    = 1000        // attempts in all for one file
	enough       = 1 << 20     // bytes of progress that reset the count of attempts
	longestPause = time.Minute // longest that a server's request to wait is followed
	mostRedirect = 10
)

// again is an error that may not occur at the next attempt.
type again struct {
	error
	after time.Duration // time that the server asks to wait; 0: it does not say
}

func (a again) Unwrap() error { return a.error }

// watched reports reads.
type watched struct {
	io.Reader
	alive func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive()
	}
	return n, err
}

// retry calls try until it succeeds, fails permanently, or has failed too often. An attempt that does not
// call alive for Client.Stall is cancelled. progress is the number of bytes that the attempt has added.
func (c *Client) retry(ctx context.Context, try func(ctx context.Context, alive func()) (progress int64, err error)) error {
	failures := 0
	for all := 1; ; all++ {
		progress, err := c.attempt(ctx, try)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if progress >= enough {
			failures = 0
		}
		failures++
		var later again
		if !errors.As(err, &later) || failures >= mostTries || all >= mostInAll {
			return err
		}
		pause := later.after
		if pause == 0 {
			pause = min(c.Pause<<(failures-1), longestPause)
		}
		if pause > longestPause {
			return fmt.Errorf("%w: it asks to come again in %v", err, pause.Round(time.Second))
		}
		c.note("%v; trying again in %v", err, pause)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

var errStalled = errors.New("the server says nothing")

// attempt runs one attempt. Errors of the network may not occur at the next one.
func (c *Client) attempt(ctx context.Context, try func(ctx context.Context, alive func()) (int64, error)) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.Stall, func() { cancel(errStalled) })
	defer timer.Stop()
	progress, err := try(ctx, func() { timer.Reset(c.Stall) })
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return progress, again{error: fmt.Errorf("%w for %v", errStalled, c.Stall)}
	}
	var failed net.Error
	if !final(err) && (errors.As(err, &failed) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = again{error: err}
	}
	return progress, err
}

// final says whether an error is permanent: errors of files (whose numbers look like those of the network),
// of unknown names, and redirects that are not followed.
func final(err error) bool {
	var away *unreachableError
	if errors.As(err, &away) {
		return true
	}
	var file *fs.PathError
	var name *net.DNSError
	return errors.As(err, &file) || errors.Is(err, errRedirect) || errors.As(err, &name) && name.IsNotFound
}

// unreachableError says that no connection could be made.
type unreachableError struct{ why error }

func (e *unreachableError) Error() string {
	return fmt.Sprintf("the hub cannot be reached: %v; is there a network? Models in the cache run without one", e.why)
}

func (e *unreachableError) Unwrap() error { return e.why }

// reached makes an error of dialling or of a name look-up permanent.
func reached(err error) error {
	var op *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return &unreachableError{name}
	case errors.As(err, &op) && op.Op == "dial":
		return &unreachableError{op}
	}
	return err
}

var errRedirect = errors.New("that is not followed")

// newHTTP returns a client that sends the token to the hub only, not to servers that the hub redirects to,
// and that never goes from https to http.
func newHTTP() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the bytes of a file, unchanged
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		switch from := via[0].URL; {
		case len(via) >= mostRedirect:
			return fmt.Errorf("%s goes on sending us elsewhere: %w", from.Host, errRedirect)
		case req.URL.Scheme != "https" && req.URL.Scheme != "http":
			return fmt.Errorf("%s sends us to an address of %s: %w", from.Host, req.URL.Scheme, errRedirect)
		case from.Scheme == "https" && req.URL.Scheme != "https":
			return fmt.Errorf("%s sends us to %s without encryption: %w", from.Host, req.URL.Host, errRedirect)
		case from.Host != req.URL.Host:
			req.Header.Del("Authorization")
		}
		return nil
	}}
}

// get requests a URL of the hub.
func (c *Client) get(ctx context.Context, url string, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "mla")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return c.HTTP.Do(req)
}

// refusal is the error for a response that is not a success, with advice.
func (c *Client) refusal(resp *http.Response) error {
	err := fmt.Errorf("%s answers %s%s", resp.Request.URL.Host, resp.Status, reason(resp))
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		if c.Token == "" {
			return fmt.Errorf("%w\nthe name may be wrong, or the model wants a token: set HF_TOKEN (or run hf auth login) and accept its terms on the hub", err)
		}
		return fmt.Errorf("%w\nyour token does not open it: accept the model's terms on the hub, or take another token", err)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: there is no such model, or your token does not open it", err)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return again{err, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	case code == http.StatusRequestTimeout, code >= 500:
		return again{error: err}
	}
	return err
}

// reason is the hub's explanation of an error, if it is printable.
func reason(resp *http.Response) string {
	text := resp.Header.Get("X-Error-Message")
	if text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return " (" + text + ")"
}

// retryAfter parses a Retry-After header, seconds or a date; 0: there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
