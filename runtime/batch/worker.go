package batch

import (
	"bytes"
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

// Worker answers requests of batches.
type Worker struct {
	Handler http.Handler // the server's
	Slots   int          // requests at a time
	Log     *slog.Logger
	AckWait time.Duration // 0: AckWait
}

// pause is how long a worker waits for its server, and after an error of the broker.
const pause = time.Second

// Run answers requests until ctx is done. Those under way then go to other workers.
func (w *Worker) Run(ctx context.Context, js jetstream.JetStream) error {
	if w.AckWait == 0 {
		w.AckWait = AckWait
	}
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
			_ = m.NakWithDelay(pause) // if that does not come through either, AckWait does it
			return fmt.Errorf("%s: %w", m.Subject(), err)
		}
	}
	if err := list.Error(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// answer answers a request and acknowledges it. Of an error, nothing was stored.
func (w *Worker) answer(ctx context.Context, js jetstream.JetStream, out jetstream.Stream, m jetstream.Msg) error {
	to := answers + strings.TrimPrefix(m.Subject(), requests)
	if there, err := answered(ctx, out, to); err != nil || there { // its worker was cut before it could acknowledge
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
		err = nil // another worker was as quick
	}
	if err != nil {
		return err
	}
	return m.DoubleAck(ctx)
}

// keepAlive tells the broker that a request is being worked on.
func (w *Worker) keepAlive(m jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(w.AckWait / 3):
				_ = m.InProgress() // the next one may come through
			}
		}
	}()
	return cancel
}

// run answers a request by the server, once that is ready. It fails if the server does.
func (w *Worker) run(ctx context.Context, q request, a *answer) error {
	var out *recorder
	for busy := true; busy; {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, bytes.NewReader(q.Body))
		if err != nil {
			a.Error = &failure{"invalid_request", err.Error()}
			return nil
		}
		out = &recorder{header: http.Header{}}
		w.Handler.ServeHTTP(out, r)
		if busy = out.status == http.StatusTooManyRequests || out.status == http.StatusServiceUnavailable; busy {
			select {
			case <-time.After(pause): // the model is being loaded, or others use it
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	switch {
	case out.status >= http.StatusInternalServerError:
		return fmt.Errorf("status %d: %s", out.status, bytes.TrimSpace(out.body.Bytes()))
	case !json.Valid(out.body.Bytes()):
		a.Error = &failure{"invalid_request", "the answer is no JSON: a request of a batch cannot be streamed"}
	default:
		a.Response = &response{out.status, out.header.Get("X-Request-Id"), out.body.Bytes()}
	}
	return nil
}

// recorder is an answer in memory.
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
