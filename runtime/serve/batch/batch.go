// Package batch runs batches of requests that must not be lost, with as many workers on as
// many machines as there are. Requests and answers are the lines of OpenAI's batch files;
// between them is NATS JetStream.
//
// A line becomes a message of the stream of requests, which a worker takes when it has a
// slot free. The worker stores the answer and then acknowledges the message. Should it
// crash before, the message goes to another worker after AckWait. An answer is stored only
// where there is none yet (the broker compares the sequence of its subject), so none is
// lost and none is there twice.
package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams, and the subjects within: REQUESTS.batch.line and ANSWERS.batch.line.
const (
	requests = "mla_requests"
	answers  = "mla_answers"
	workers  = "workers" // the consumer that all workers share
)

// AckWait is how long a worker may be silent before its request goes to another one.
const AckWait = 10 * time.Second

// MaxDeliver is how often a request is tried; then its answer is that it failed.
const MaxDeliver = 5

// keep is how long answers stay, and requests that nobody takes.
const keep = 30 * 24 * time.Hour

// request is a line of an input file.
type request struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

// answer is a line of an output file.
type answer struct {
	ID       string    `json:"id"`
	CustomID string    `json:"custom_id"`
	Response *response `json:"response"`
	Error    *failure  `json:"error"`
}

type response struct {
	Status    int             `json:"status_code"`
	RequestID string          `json:"request_id"`
	Body      json.RawMessage `json:"body"`
}

// failure is why there is no response.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// subject is that of a line, from 1, of a batch.
func subject(stream, batch string, line int) string {
	return stream + "." + batch + "." + strconv.Itoa(line)
}

// streams makes the streams, or finds them.
func streams(ctx context.Context, js jetstream.JetStream) (in, out jetstream.Stream, err error) {
	// A request leaves the stream when it is acknowledged.
	in, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: requests, Subjects: []string{requests + ".>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, MaxAge: keep})
	if err != nil {
		return nil, nil, explain(err)
	}
	out, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: answers, Subjects: []string{answers + ".>"},
		Storage: jetstream.FileStorage, MaxAge: keep})
	return in, out, explain(err)
}

func explain(err error) error {
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the NATS server has no JetStream (nats-server -js): %w", err)
	}
	return err
}

// answered says whether there is an answer.
func answered(ctx context.Context, out jetstream.Stream, subject string) (bool, error) {
	_, err := out.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}
