package batch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Worker answers the requests of batches.
type Worker struct {
	Handler http.Handler // the server's
	Slots   int          // requests at a time
	Log     *slog.Logger
	AckWait time.Duration // 0: AckWait
	// Patience is how long a worker keeps asking its server about one request while the server is busy or has
	// no model; 0: DefaultPatience. After that another worker gets the request.
	Patience time.Duration
	// Limit is how long a request may take; 0: DefaultLimit. After that its answer is an error, even if the
	// server has not finished.
	Limit time.Duration
}

// Defaults of Worker. The limit is longer than the server's own.
const (
	DefaultPatience = 10 * time.Minute
	DefaultLimit    = time.Hour
)

// pause is the time between two attempts, and after an error of the broker.
const pause = time.Second

// Run answers requests until ctx is done. Unfinished requests then go to other workers.
func (w *Worker) Run(ctx context.Context, js jetstream.JetStream) error {
	w.AckWait, w.Patience, w.Limit = cmp.Or(w.AckWait, AckWait), cmp.Or(w.Patience, DefaultPatience), cmp.Or(w.Limit, DefaultLimit)
	in, out, err := streams(ctx, js)
	if err != nil {
		return err
	}
	consumer, err := in.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{Durable: workers, AckPolicy: jetstream.AckExplicitPolicy, AckWait: w.AckWait, MaxAckPending: -1})
	if err != nil {
		return err
	}
	var slots sync.WaitGroup
	for range w.Slots {
		slots.Go(func() {
			for ctx.Err() == nil {
				if err := w.next(ctx, js, consumer, out); err != nil && ctx.Err() == nil {
					w.Log.Warn("batches", "error", err)
					select {
					case <-time.After(pause):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	slots.Wait()
	return nil
}

// next takes a request, if there is one, and answers it.
func (w *Worker) next(ctx context.Context, js jetstream.JetStream, consumer jetstream.Consumer, out jetstream.Stream) error {
	list, err := consumer.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return err
	}
	for m := range list.Messages() {
		if err := w.answer(ctx, js, out, m); err != nil {
			_ = m.NakWithDelay(pause) // if this message is lost, AckWait has the same effect
			return fmt.Errorf("%s: %w", m.Subject(), err)
		}
	}
	if err := list.Error(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// answer answers a request and acknowledges it. After an error, nothing was stored.
func (w *Worker) answer(ctx context.Context, js jetstream.JetStream, out jetstream.Stream, m jetstream.Msg) error {
	to := answers + strings.TrimPrefix(m.Subject(), requests)
	if there, err := answered(ctx, out, to); err != nil || there { // the worker that stored it had no time to acknowledge
		return errors.Join(err, m.DoubleAck(ctx))
	}
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	stop := w.keepAlive(m)
	defer stop()
	a := answer{ID: "batch_req_" + rand.Text()}
	var q request
	switch err := json.Unmarshal(m.Data(), &q); {
	case err != nil:
		a.Error = &failure{"invalid_request", err.Error()}
	case !isPath(q.URL):
		a.Error = &failure{"invalid_request", fmt.Sprintf("url is %q; expected one such as /v1/chat/completions", q.URL)}
	case about.NumDelivered > MaxDeliver:
		a.Error = &failure{"gave_up", fmt.Sprintf("%d workers have failed on it", MaxDeliver)}
	default:
		if err := w.run(ctx, q, &a); err != nil {
			return err
		}
	}
	a.CustomID = q.CustomID
	line, err := json.Marshal(a)
	if err == nil && int64(len(line)) > js.Conn().MaxPayload() {
		a.Response, a.Error = nil, &failure{"too_large", fmt.Sprintf("the answer has %d bytes; the NATS server takes messages of %d (max_payload)", len(line), js.Conn().MaxPayload())}
		line, err = json.Marshal(a)
	}
	if err != nil {
		return err
	}
	_, err = js.Publish(ctx, to, line, jetstream.WithExpectLastSequencePerSubject(0))
	var said *jetstream.APIError
	if errors.As(err, &said) && said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		err = nil // another worker was as fast
	}
	if err != nil {
		return err
	}
	return m.DoubleAck(ctx)
}

// keepAlive tells the broker, until stop, that a request is being answered.
func (w *Worker) keepAlive(m jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(w.AckWait / 3):
				_ = m.InProgress() // if it fails, the next one may succeed
			}
		}
	}()
	return cancel
}

// run sends a request to the server and stores the response in a. It fails if the server does, or is not
// ready in time.
func (w *Worker) run(ctx context.Context, q request, a *answer) error {
	out, err := w.ask(ctx, q)
	var late *lateError
	switch {
	case errors.As(err, &late):
		a.Error = &failure{"timeout", err.Error()}
		return nil
	case err != nil:
		return err
	}
	switch kind := out.header.Get("Content-Type"); {
	case out.status >= http.StatusInternalServerError:
		return fmt.Errorf("status %d: %s", out.status, bytes.TrimSpace(out.body.Bytes()))
	case out.status/100 == 3:
		a.Error = &failure{"invalid_request", fmt.Sprintf("the url %q is another one's: %s", q.URL, out.header.Get("Location"))}
	case strings.HasPrefix(kind, "text/event-stream"), strings.HasPrefix(kind, "application/x-ndjson"):
		a.Error = &failure{"invalid_request", "a request of a batch cannot be streamed"}
	case !json.Valid(out.body.Bytes()):
		a.Error = &failure{"invalid_request", fmt.Sprintf("the answer of %q is no JSON (status %d)", q.URL, out.status)}
	default:
		a.Response = &response{out.status, out.header.Get("X-Request-Id"), out.body.Bytes()}
	}
	return nil
}

// lateError says that a request has exceeded its time limit.
type lateError struct{ limit time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("the request took longer than %v", e.limit) }

// ask sends a request until the server's answer is something else than that it is busy.
func (w *Worker) ask(ctx context.Context, q request) (*recorder, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Limit, &lateError{w.Limit})
	defer cancel()
	since := time.Now()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, bytes.NewReader(q.Body))
		if err != nil { // Read has checked the URL
			return nil, err
		}
		// A handler that ignores the end of its context is abandoned, so that the slot can take the next
		// request.
		answered := make(chan *recorder, 1)
		go func() {
			out := &recorder{header: http.Header{}}
			w.Handler.ServeHTTP(out, r)
			answered <- out
		}()
		var out *recorder
		select {
		case out = <-answered:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if out.status != http.StatusTooManyRequests && out.status != http.StatusServiceUnavailable {
			return out, nil
		}
		if time.Since(since) > w.Patience {
			return nil, fmt.Errorf("the server was not ready within %v: status %d: %s", w.Patience, out.status, bytes.TrimSpace(out.body.Bytes()))
		}
		select {
		case <-time.After(pause): // the model is being loaded, or other requests use it
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// recorder keeps a response in memory.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(data)
}

// Flush implements http.Flusher.
func (r *recorder) Flush() {}
