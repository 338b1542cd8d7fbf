package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a running mlarun serve.
type server struct {
	url string
	cmd *exec.Cmd
}

// serve starts a server for a number of requests at a time, on some processors ("": any), with
// more flags, and waits until it is ready.
func (l *load) serve(parallel, threads int, cpus string, flags ...string) (*server, error) {
	args := []string{l.mlarun, "serve", "-model", l.model, "-device", l.device, "-threads", strconv.Itoa(threads), "-port", "0", "-c", strconv.Itoa(l.context()),
		"-parallel", strconv.Itoa(parallel), "-prompt-rows", strconv.Itoa(l.rows), "-temp", "0", "-log-json"}
	args = slices.Concat(args, l.with, flags)
	if cpus != "" {
		args = append([]string{"taskset", "-c", cpus}, args...)
	}
	c := exec.Command(args[0], args[1:]...)
	log, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: c}
	lines, last := bufio.NewScanner(log), ""
	for s.url == "" && lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" {
			last = text // if the server does not start, this says why
		}
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			s.url = line.Address
		}
	}
	if s.url == "" {
		return nil, errors.Join(fmt.Errorf("the server does not listen: %s", last), c.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // it would wait for a reader
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		r, err := http.Get(s.url + "/health")
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return s, nil
		}
	}
	return nil, errors.Join(errors.New("the model is not loaded"), s.close())
}

func (s *server) close() error {
	return errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
}

// context is that of a request.
func (l *load) context() int { return 8*l.tokens + l.prompt + 64 }

// metric is one of the server's numbers.
func (s *server) metric(name string) (float64, error) {
	r, err := http.Get(s.url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, fmt.Errorf("the server has no metric %s", name)
}

// answer is when the tokens of a stream came, and what the server says.
type answer struct {
	sent   time.Time
	tokens []time.Time
	said
}

// said is what is of use in the last piece.
type said struct {
	Timings struct {
		PromptMS float64 `json:"prompt_ms"` // of the prompt, by the server's clock
		Guesses  float64 `json:"draft_n"`
		Right    float64 `json:"draft_n_accepted"`
	}
	Usage struct {
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// first is how long the first token took, in milliseconds.
func (a *answer) first() float64 { return 1e3 * a.tokens[0].Sub(a.sent).Seconds() }

// newPrompt is one that no other request begins with.
func (l *load) newPrompt(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = 3 + (l.first*31+int32(i)*7)%200
	}
	p[0], p[n/2] = 3+l.first%200, 3+l.first/200%200
	l.first++
	return p
}

// ask streams the likeliest answer of a given number of tokens; came is called with every token, may be
// nil, and returns false to go.
func (s *server) ask(prompt []int32, tokens int, came func(time.Time) bool) (*answer, error) {
	return s.send(map[string]any{"prompt": prompt, "max_tokens": tokens, "temperature": 0}, came)
}

// send streams the answer to a request. With their ids, tokens come one by one, also those that end
// within a character.
func (s *server) send(request map[string]any, came func(time.Time) bool) (*answer, error) {
	request["ignore_eos"], request["stream"], request["return_token_ids"], request["stream_options"] = true, true, true, map[string]any{"include_usage": true}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	a := &answer{sent: time.Now()}
	r, err := http.Post(s.url+"/v1/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(r.Body)
		return nil, fmt.Errorf("%s: %s", r.Status, text)
	}
	for lines := bufio.NewReader(r.Body); ; {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil, errors.New("an answer was cut off")
		}
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(line, "data: [DONE]"):
			return a, nil
		case strings.HasPrefix(line, `data: {"error"`): // a text may be this word
			return nil, errors.New(line)
		case strings.Contains(line, `"timings":{`):
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &a.said); err != nil {
				return nil, err
			}
		case strings.Contains(line, `"finish_reason":null`):
			now := time.Now()
			a.tokens = append(a.tokens, now)
			if came != nil && !came(now) {
				return a, nil
			}
		}
	}
}

// concurrently runs several answers at a time.
func concurrently(n int, run func(i int) (*answer, error)) ([]*answer, error) {
	list, errs := make([]*answer, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { list[i], errs[i] = run(i) })
	}
	all.Wait()
	return list, errors.Join(errs...)
}

// benched is a row of mlarun bench.
type benched struct {
	TokS float64 `json:"tok_s"`
	CPU  float64 `json:"cpu_s"` // of a token
}

// bench is the speed of a number of sessions without a server, with a number of tokens before those
// that are measured, and with more flags.
func (l *load) bench(batch, depth int, flags ...string) (benched, error) {
	args := []string{"bench", "-model", l.model, "-device", l.device, "-threads", strconv.Itoa(l.threads), "-p", "0", "-n", strconv.Itoa(l.tokens),
		"-d", strconv.Itoa(depth), "-empty", "-r", "1", "-batch", strconv.Itoa(batch), "-o", "json", "-quiet"}
	c := exec.Command(l.mlarun, slices.Concat(args, l.with, flags)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return benched{}, err
	}
	var list []benched
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 {
		return benched{}, fmt.Errorf("%w: %s", err, out)
	}
	return list[0], nil
}
