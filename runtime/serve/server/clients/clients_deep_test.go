//go:build deep

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The agents, in versions that were seen to send what the tests are about.
const (
	claude   = "@anthropic-ai/claude-code@2.1.197"
	codex    = "@openai/codex@0.171.0"
	opencode = "opencode-ai@1.18.33"
)

// asTool is an environment variable that makes this program a server of tools.
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

// folder returns the folder for npm packages of a name.
func folder(t *testing.T, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "mla-clients", strings.NewReplacer("/", "_", "@", "_").Replace(name))
}

// installers are what the packages of agents have to be told to put their programs in place.
var installers = map[string]string{claude: "@anthropic-ai/claude-code/install.cjs", opencode: "opencode-ai/postinstall.mjs"}

// install installs an npm package and returns the path of its program.
func install(t *testing.T, pack, name string) string {
	t.Helper()
	dir := folder(t, pack)
	program := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command("npm", "install", "--ignore-scripts", "--prefix", dir, pack).CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	if script := installers[pack]; script != "" {
		installer := exec.Command("node", filepath.Join(dir, "node_modules", script))
		installer.Dir = filepath.Dir(installer.Args[1])
		if out, err := installer.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	return program
}

// run runs a program in an empty home and returns its output.
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

// use is what a section's commands set in the environment, and the words of the last one.
func use(t *testing.T, title, url string) (env, words []string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(blocks(t, title)["sh"], here, url)) {
		words = strings.Fields(line)
		if words[0] == "export" {
			env = append(env, words[1:]...)
		}
	}
	return env, words
}

// self returns the path of this program.
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const question, answer = "What is 12 times 34?", "12 times 34 is 408."

// TestClaudeCode checks that Claude Code makes the model call a tool, and shows what the model writes after
// the result.
func TestClaudeCode(t *testing.T) {
	program, url, home := install(t, claude, "claude"), serve(t, "mcp__calc__multiply"), t.TempDir()
	servers := write(t, home, "servers.json", fmt.Sprintf(`{"mcpServers": {"calc": {"command": %q, "env": {%q: "1"}}}}`, self(t), asTool))
	env, words := use(t, "Claude Code", url)
	env = append(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"MCP_CONNECTION_NONBLOCKING=0", "MCP_TIMEOUT=60000", "ENABLE_TOOL_SEARCH=false") // so that the first request has the tool
	for _, more := range [][]string{nil, {"--bare"}} {
		args := append(append(words[1:], more...), "-p", question, "--mcp-config", servers, "--allowedTools", "mcp__calc__multiply")
		if out := run(t, home, env, program, args...); !strings.Contains(out, answer) {
			t.Errorf("%v: %s", more, out)
		}
	}
}

// TestCodex checks the same with Codex, whose tools of servers are in namespaces.
func TestCodex(t *testing.T) {
	program, url, home := install(t, codex, "codex"), serve(t, "mcp__calc__multiply"), t.TempDir()
	write(t, home, "config.toml", strings.ReplaceAll(blocks(t, "Codex")["toml"], here, url)+fmt.Sprintf(`
[mcp_servers.calc]
command = %q
required = true
[mcp_servers.calc.env]
%s = "1"
`, self(t), asTool))
	if out := run(t, home, []string{"CODEX_HOME=" + home}, program, "exec", "--skip-git-repo-check", question); !strings.Contains(out, answer) {
		t.Error(out)
	}
}

// TestOpenCode checks the same with opencode, which calls a server's tool SERVER_TOOL.
func TestOpenCode(t *testing.T) {
	program, url, home := install(t, opencode, "opencode"), serve(t, "calc_multiply"), t.TempDir()
	var config map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(blocks(t, "opencode")["json"], here, url)), &config); err != nil {
		t.Fatal(err)
	}
	config["mcp"] = map[string]any{"calc": map[string]any{"type": "local", "command": []string{self(t)}, "environment": map[string]string{asTool: "1"}, "enabled": true, "timeout": 60000}}
	config["autoupdate"], config["share"] = false, "disabled"
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, home, ".config/opencode/opencode.json", string(text))
	env := []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"} // it needs nothing else of the network
	if out := run(t, home, env, program, "run", question); !strings.Contains(out, answer) {
		t.Error(out)
	}
}

// sdks are the libraries that the page's code blocks import.
const sdks = "ai@6.0.326 @ai-sdk/openai-compatible@2 @langchain/openai@1.5 @langchain/core zod@4 ollama@0.6.4"

// TestSDKs runs the page's code blocks for libraries.
func TestSDKs(t *testing.T) {
	dir, url := folder(t, "sdks"), serve(t, "multiply")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "ollama")); err != nil {
		args := append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir}, strings.Fields(sdks)...)
		if out, err := exec.Command("npm", args...).CombinedOutput(); err != nil {
			t.Fatalf("npm: %v\n%s", err, out)
		}
	}
	for _, p := range programs {
		if p.test != "TestSDKs" {
			continue
		}
		program := write(t, dir, "program.mjs", strings.ReplaceAll(blocks(t, p.title)["js"], here, url))
		if out := run(t, t.TempDir(), nil, "node", program); out != "Small things scatter blue light.\n" {
			t.Errorf("%s: %s", p.title, out)
		}
	}
}
