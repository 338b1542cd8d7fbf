// Package batch runs batches of requests that must not be lost, with any number of workers on any number of
// machines. Requests and answers are lines of OpenAI's batch files. NATS JetStream moves them between clients
// and workers.
//
// A line becomes a message in the stream of requests. A worker with a free slot takes it, stores the answer,
// and then acknowledges the message. If the worker crashes before, the message goes to another worker after
// AckWait. An answer is stored only if there is none yet: the broker compares the sequence number of its
// subject. So no answer is lost, and none is stored twice.
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

// The streams, with subjects REQUESTS.batch.line and ANSWERS.batch.line.
const (
	requests = "mla_requests"
	answers  = "mla_answers"
	workers  = "workers" // the consumer that all workers share
)

// AckWait is how long a worker may be silent before its request goes to another worker.
const AckWait = 10 * time.Second

// MaxDeliver is how often a request is tried; after that its answer is an error.
const MaxDeliver = 5

// keep is how long answers, and requests that no worker takes, are stored.
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

// failure says why there is no response.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// subject is the subject of a line of a batch; lines are numbered from 1.
func subject(stream, batch string, line int) string {
	return stream + "." + batch + "." + strconv.Itoa(line)
}

// streams creates the streams, unless they exist.
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
