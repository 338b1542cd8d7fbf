package server_test

import (
	"bufio"
	"fmt"
	"io"
	"mla/tools/tests/race"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// bodyChild is an environment variable of the process that serves TestLargeBodies.
const bodyChild = "MLA_TEST_BODIES"

// TestBodiesChild is the process that serves TestLargeBodies, until its input ends.
func TestBodiesChild(t *testing.T) {
	if os.Getenv(bodyChild) == "" {
		return
	}
	s := serve(t, nil)
	fmt.Println("serving", s.url)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// repeated is an endless text that repeats.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(data []byte) (int, error) {
	n := 0
	for n < len(data) {
		k := copy(data[n:], r.text[r.at:])
		n, r.at = n+k, (r.at+k)%len(r.text)
	}
	return n, nil
}

// TestLargeBodies checks that a body of 32 MiB takes at most 200 MB of memory, and many of them at most 1 GB
// in all, for any content. The errors say what is wrong.
func TestLargeBodies(t *testing.T) {
	if race.On { // which uses several times the memory
		return
	}
	const size = 32 << 20
	child := exec.Command(os.Args[0], "-test.run", "^TestBodiesChild$", "-test.v")
	child.Env = append(os.Environ(), bodyChild+"=1")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	}()
	url := ""
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		url, _ = strings.CutPrefix(lines.Text(), "serving ")
		if !strings.HasPrefix(url, "http") {
			url = ""
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	// peak is the most memory that the child has had, in bytes.
	peak := func() int64 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "VmHWM:")
		kilobytes := int64(0)
		if _, err := fmt.Sscan(text, &kilobytes); err != nil {
			t.Fatal(err)
		}
		return kilobytes << 10
	}
	post := func(path, head, filling, tail string) {
		n := (size - len(head) - len(tail)) / len(filling) * len(filling)
		body := io.MultiReader(strings.NewReader(head), io.LimitReader(&repeated{text: filling}, int64(n)), strings.NewReader(tail))
		r, err := http.NewRequest("POST", url+path, body)
		if err != nil {
			t.Error(err)
			return
		}
		r.ContentLength = int64(len(head) + n + len(tail))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s %.40s: %v", path, head, err)
			return
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != 400 || len(text) > 2000 {
			t.Errorf("%s %.40s: %s %.200s, %v", path, head, answer.Status, text, err)
		}
	}
	type large struct{ path, head, filling, tail string }
	kinds := []large{
		{"/v1/completions", `{"max_tokens":1,"prompt":"`, "a", `"}`},
		{"/v1/completions", `{"max_tokens":1,"prompt":"`, " ", `"}`},
		{"/v1/completions", `{"max_tokens":1,"prompt":[`, "1,", `1]}`},
		{"/completion", `{"prompt":["`, "ab ", `"]}`},
		{"/tokenize", `{"content":"`, "a", `"}`},
		{"/detokenize", `{"tokens":[`, "7,", `7]}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"`, "é", `"}]}`},
		{"/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"`, "x y", `"}]}`},
		{"/api/generate", `{"prompt":"`, "word ", `"}`},
		{"/v1/chat/completions", `{"messages":[`, "{},", `{}]}`},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[`, `{"type":"text","text":"a"},`, `{"type":"text","text":"a"}]}]}`},
	}
	post(kinds[0].path, kinds[0].head, kinds[0].filling, kinds[0].tail)
	base := peak()
	t.Logf("one body: %d MB", base>>20)
	for _, k := range kinds {
		post(k.path, k.head, k.filling, k.tail)
	}
	if got := peak(); got > 200e6+40<<20 { // the process itself has the rest
		t.Errorf("bodies one after the other take %d MB", got>>20)
	}
	var all sync.WaitGroup
	for _, k := range kinds {
		all.Go(func() { post(k.path, k.head, k.filling, k.tail) })
	}
	all.Wait()
	if got := peak(); got > 1e9 {
		t.Errorf("bodies together take %d MB", got>>20)
	}
	t.Logf("%d bodies together: %d MB", len(kinds), peak()>>20)
}
