//go:build deep

// Package clients runs agents that people use against the server. They come from npm, so
// that nothing else depends on these tests.
package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mla/runtime/chat"
	"mla/runtime/completion"
	"mla/runtime/completion/completiontest"
	"mla/runtime/sample"
	"mla/runtime/server"
)

// The agents, in versions that were seen to send what the tests are about.
const (
	claude = "@anthropic-ai/claude-code@2.1.197"
	codex  = "@openai/codex@0.171.0"
)

// context_ is the model's context: agents begin with prompts of 40 kB, and a token is a byte.
const context_ = 1 << 17

// asTool makes this program a server of tools.
const asTool = "MLA_TEST_AS_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		serveTools()
		return
	}
	os.Exit(m.Run())
}

// serveTools is a server of one tool by the Model Context Protocol, over the standard streams.
func serveTools() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version   string         `json:"protocolVersion"`
				Arguments map[string]int `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &q) != nil || q.ID == nil {
			continue
		}
		result := `{}`
		switch q.Method {
		case "initialize":
			result = fmt.Sprintf(`{"protocolVersion": %q, "capabilities": {"tools": {}}, "serverInfo": {"name": "calc", "version": "1"}}`, q.Params.Version)
		case "tools/list":
			result = `{"tools": [{"name": "multiply", "description": "Multiplies whole numbers.", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}}]}`
		case "tools/call":
			result = fmt.Sprintf(`{"content": [{"type": "text", "text": "product %d"}]}`, q.Params.Arguments["a"]*q.Params.Arguments["b"])
		}
		fmt.Printf("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": %s}\n", q.ID, result)
	}
}

// answers are a call of the tool, and what is said of its result.
var answers = []completiontest.Answer{
	{To: "product 408", Text: "It is there.</think>12 times 34 is 408."},
	{To: "What is 12 times 34?", Text: "I multiply.</think><tool_call>mcp__calc__multiply<arg_key>a</arg_key><arg_value>12</arg_value><arg_key>b</arg_key><arg_value>34</arg_value></tool_call>"},
}

// serve serves a model that writes the answers, and returns the address.
func serve(t *testing.T) string {
	t.Helper()
	template, err := os.ReadFile("../../chat/testdata/glm-4.7-flash.jinja")
	if err != nil {
		t.Fatal(err)
	}
	m, err := completiontest.New(string(template), 4, context_, answers...)
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := chat.For(string(template), chat.Hints{Escape: m.Tokenizer.Escape})
	if err != nil {
		t.Fatal(err)
	}
	service := completion.New(completion.Config{Load: m.Load, Tokenizer: m.Tokenizer, Queue: 16})
	running, finish := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- service.Run(running) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: server.New(server.Config{Service: service, Model: "tiny", Context: context_, Chat: renderer, Sampling: sample.Off()}), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	t.Cleanup(func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		<-served // it says that it was closed
		finish()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// install installs a package of npm, and returns the program of it.
func install(t *testing.T, pack, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "mla-clients", strings.NewReplacer("/", "_", "@", "_").Replace(pack))
	program := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command("npm", "install", "--prefix", dir, pack).CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	if script := filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code", "install.cjs"); name == "claude" {
		if out, err := exec.Command("node", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	return program
}

// run runs an agent in an empty home, and returns what it prints.
func run(t *testing.T, home string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s%s", program, err, out.String(), problems.String())
	}
	return out.String() + problems.String()
}

// self is this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// write writes a file into a folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClaudeCode: Claude Code has the model call a tool, and shows what the model makes of its
// result.
func TestClaudeCode(t *testing.T) {
	program, url, home := install(t, claude, "claude"), serve(t), t.TempDir()
	servers := write(t, home, "servers.json", fmt.Sprintf(`{"mcpServers": {"calc": {"command": %q, "env": {%q: "1"}}}}`, self(t), asTool))
	env := []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"MCP_CONNECTION_NONBLOCKING=0", "MCP_TIMEOUT=60000", "ENABLE_TOOL_SEARCH=false"} // so that the first request has the tool
	for _, more := range [][]string{nil, {"--bare"}} {
		out := run(t, home, env, program, append(more, "-p", "What is 12 times 34?", "--model", "tiny", "--mcp-config", servers, "--allowedTools", "mcp__calc__multiply")...)
		if !strings.Contains(out, "12 times 34 is 408.") {
			t.Errorf("%v: %s", more, out)
		}
	}
}

// TestCodex: the same with Codex, whose tools of servers are in namespaces.
func TestCodex(t *testing.T) {
	program, url, home := install(t, codex, "codex"), serve(t), t.TempDir()
	write(t, home, "config.toml", fmt.Sprintf(`
model = "tiny"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = %q
wire_api = "responses"
[mcp_servers.calc]
command = %q
required = true
[mcp_servers.calc.env]
%s = "1"
`, url+"/v1", self(t), asTool))
	out := run(t, home, []string{"CODEX_HOME=" + home}, program, "exec", "--skip-git-repo-check", "What is 12 times 34?")
	if !strings.Contains(out, "12 times 34 is 408.") {
		t.Error(out)
	}
}
