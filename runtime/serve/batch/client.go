package batch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// File is a checked input file.
type File struct {
	// Name identifies the batch. It is the same for the same text, so submitting a text again continues its
	// batch.
	Name  string
	lines [][]byte
}

// Limits on an input file; those of lines are OpenAI's.
const (
	maxLines = 50_000
	maxLine  = 32 << 20 // bytes
)

// Read reads an input file, and checks all lines.
func Read(r io.Reader) (*File, error) {
	f, ids := &File{}, map[string]int{}
	hash := sha256.New()
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		var q request
		err := json.Unmarshal(line, &q)
		switch {
		case err != nil:
		case q.CustomID == "":
			err = errors.New("custom_id is missing")
		case ids[q.CustomID] > 0:
			err = fmt.Errorf("custom_id %q is that of line %d, too", q.CustomID, ids[q.CustomID])
		case q.Method != "POST":
			err = fmt.Errorf("method is %q; expected POST", q.Method)
		case !isPath(q.URL):
			err = fmt.Errorf("url is %q; expected one such as /v1/chat/completions", q.URL)
		case len(q.Body) == 0 || q.Body[0] != '{':
			err = errors.New("body is no object")
		case len(f.lines) == maxLines:
			err = fmt.Errorf("a batch has at most %d requests", maxLines)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		ids[q.CustomID] = n
		f.lines = append(f.lines, bytes.Clone(line))
		hash.Write(append(line, '\n'))
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(f.lines) == 0 {
		return nil, errors.New("there are no requests")
	}
	f.Name = hex.EncodeToString(hash.Sum(nil)[:12])
	return f, nil
}

// isPath says whether a URL is a path of the API, without a host.
func isPath(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(u.Path, "/v1/") && u.String() == u.Path && path.Clean(u.Path) == u.Path
}

// Len is the number of requests.
func (f *File) Len() int { return len(f.lines) }

// Submit sends the requests without an answer to the broker. When it returns, the broker has stored them.
func (f *File) Submit(ctx context.Context, js jetstream.JetStream) error {
	_, out, err := streams(ctx, js)
	if err != nil {
		return err
	}
	most := js.Conn().MaxPayload()
	for i, line := range f.lines {
		if int64(len(line)) > most {
			return fmt.Errorf("request %d has %d bytes; the NATS server takes messages of %d (max_payload)", i+1, len(line), most)
		}
	}
	done, err := out.Info(ctx, jetstream.WithSubjectFilter(answers+"."+f.Name+".*"))
	if err != nil {
		return err
	}
	for i, line := range f.lines {
		if done.State.Subjects[subject(answers, f.Name, i+1)] > 0 {
			continue
		}
		to := subject(requests, f.Name, i+1)
		if _, err := js.Publish(ctx, to, line, jetstream.WithMsgID(to)); err != nil {
			return fmt.Errorf("request %d: %w", i+1, err)
		}
	}
	return nil
}

// Collect waits for all answers and writes them in the order of the requests. It calls progress, which may be
// nil, with the number of answers so far.
func (f *File) Collect(ctx context.Context, js jetstream.JetStream, w io.Writer, progress func(n int)) error {
	consumer, err := js.OrderedConsumer(ctx, answers, jetstream.OrderedConsumerConfig{FilterSubjects: []string{answers + "." + f.Name + ".*"}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	lines := make([][]byte, len(f.lines))
	for n := 0; n < len(lines); {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		at, err := strconv.Atoi(m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:])
		if err != nil || at < 1 || at > len(lines) || lines[at-1] != nil {
			continue // of another batch
		}
		lines[at-1] = m.Data()
		if n++; progress != nil {
			progress(n)
		}
	}
	out := bufio.NewWriter(w)
	for _, line := range lines {
		_, _ = out.Write(line) // Flush returns its error
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}
