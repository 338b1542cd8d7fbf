package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mla/cmd/internal/output"
)

// TestHelp: each command has a page of its own, by -h, --help and help, with all its flags.
func TestHelp(t *testing.T) {
	_, root, _ := mlagen("-h")
	if _, also, _ := mlagen("help"); also != root {
		t.Errorf("mlagen help prints something else than -h:\n%s", also)
	}
	for _, c := range newRoot().Commands() {
		name := c.Name()
		if !strings.Contains(root, "\n  "+name+" ") {
			t.Errorf("mlagen -h does not list %s", name)
		}
		code, page, stderr := mlagen(name, "-h")
		if code != exitOK || stderr != "" || !strings.Contains(page, "Usage:\n  mlagen "+name) || page == root {
			t.Errorf("%s -h: exit %d\n%s%s", name, code, page, stderr)
		}
		for _, args := range [][]string{{name, "--help"}, {"help", name}} {
			if code, also, _ := mlagen(args...); code != exitOK || also != page {
				t.Errorf("mlagen %v: exit %d\n%s", args, code, also)
			}
		}
		if strings.Contains(page, " --") {
			t.Errorf("%s -h writes flags with two dashes:\n%s", name, page)
		}
	}
	for line := range strings.Lines(root) {
		if strings.HasPrefix(line, "      ") && !strings.HasPrefix(line, "       ") && len(line) > output.Width+1 {
			t.Errorf("mlagen -h has a line of %d bytes: %s", len(line), line)
		}
	}
	for _, want := range []string{"  -spec file\n", "  -check\n", "  -o, -output file\n", "  -n, -dry-run\n", exitCodes} {
		if !strings.Contains(root, want) {
			t.Errorf("mlagen -h lacks %q:\n%s", want, root)
		}
	}
}

// TestCommandLine checks flags with one and two dashes, the version, completions, and the suggestion for a
// misspelt command.
func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"-version", exitOK, "mlagen "},
		{"--version", exitOK, "mlagen "},
		{"dump --passes", exitOK, "fuse_norm"},
		{"dump -passes=false", exitUsage, "dump needs a spec"},
		{"describe -spec=" + tinySpec, exitOK, "per token:"},
		{"descirbe", exitUsage, `unexpected argument "descirbe"; did you mean mlagen describe?`},
		{"describe " + tinySpec, exitOK, "per token:"},
		{"describe " + tinySpec + " -width 16", exitOK, "width 16"},
		{"describe " + tinySpec + " -width 5", exitUsage, "has no sequence of 5 rows"},
		{"describe " + tinySpec + " -width 16 -html x.html", exitUsage, "-html shows a token"},
		{"describe", exitUsage, "describe needs a spec"},
		{"describe " + tinySpec + " extra", exitUsage, `unexpected argument "extra"`},
		{"dump " + tinySpec + " -after lower", exitOK, "embed"},
		{"dump -passes " + tinySpec + " extra", exitUsage, `unexpected argument "extra"`},
		{"-nonsense", exitUsage, "unknown flag: -nonsense\nmlagen -h lists its flags"},
		{"tune -nonsense", exitUsage, "unknown flag: -nonsense\nmlagen tune -h lists its flags"},
		{"completion bash", exitOK, "complete -o filenames -F _mlagen mlagen"},
		{"completion zsh", exitOK, "#compdef mlagen"},
		{"completion fish", exitOK, "complete -c mlagen"},
		{"completion zsh", exitOK, ":GPU:(cuda metal)"},
		{"completion bash", exitOK, `in -act) choices="f32 f16"`},
		{"completion", exitUsage, "completion is for one shell: bash, fish, zsh"},
		{"completion cmd", exitUsage, "completion is for one shell: bash, fish, zsh"},
		{"vet -list", exitOK, "same_profiles"},
		{"vet", exitUsage, "give either -spec F, -all or -list"},
		{"vet -spec missing.yaml", exitError, "missing.yaml"},
		{"vet -spec " + tinySpec, exitOK, "1 spec, 4 rules: nothing found"},
		{"explain", exitUsage, "explain needs a spec"},
		{"explain " + tinySpec + " attend more", exitUsage, `unexpected argument "more"`},
		{"explain " + tinySpec + " nothing", exitUsage, `has no kernel "nothing"; it has embed, q_a_kv_a`},
		{"explain " + tinySpec + " attend", exitOK, "split_kv: the cache is cut"},
		{"explain -spec " + tinySpec + " lm_head_x16", exitOK, "once a replay of up to 16 rows"},
		{"describe -spec " + tinySpec + " -kernels x.json", exitUsage, "-kernels goes with -html"},
		{"describe -spec " + tinySpec + " -html x.html -kernels missing.json", exitError, "missing.json"},
	} {
		args := strings.Fields(tt.args)
		if strings.HasSuffix(tt.args, " ") {
			args = append(args, "")
		}
		if code, stdout, stderr := mlagen(args...); code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
			t.Errorf("mlagen %s: exit %d, want %d and %q:\n%s%s", tt.args, code, tt.code, tt.says, stdout, stderr)
		}
	}
}

// TestDescribeHTML writes the page.
func TestDescribeHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.html")
	if code, stdout, stderr := mlagen("describe", "-spec", tinySpec, "-html", path); code != exitOK || !strings.Contains(stdout, "wrote "+path) {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if page, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(page), "<!doctype html>") {
		t.Error(err)
	}
}

// TestSummary checks the line that sums up a run, and that -diff shows the changed lines with little context.
func TestSummary(t *testing.T) {
	text, err := os.ReadFile(tinySpec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	spec, out := filepath.Join(dir, "tiny.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(spec, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ flag, says string }{
		{"-n", "write " + filepath.Join(out, "zmodel.go")},
		{"-diff", "--- " + os.DevNull + "\n+++ " + filepath.Join(out, "tiny.metal")},
		{"-all=false", "tiny: 5 files written, 0 removed, 0 were up to date\n"},
		{"-all=false", "tiny: 0 files written, 0 removed, 5 were up to date\n"},
		{"-check", "tiny: 5 files, up to date\n"},
		{"-diff", "0 files would be written, 0 removed\n"},
	} {
		if code, stdout, stderr := mlagen("-spec", spec, "-out", out, tt.flag); code != exitOK || !strings.Contains(stdout, tt.says) {
			t.Errorf("%s: exit %d: %s%s; want %q", tt.flag, code, stdout, stderr, tt.says)
		}
	}
	edited := strings.Replace(string(text), "rms_norm_eps: 1.0e-6", "rms_norm_eps: 1.0e-5", 1)
	if err := os.WriteFile(spec, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := mlagen("-spec", spec, "-out", out, "-diff")
	changed := len(regexp.MustCompile(`(?m)^[-+][^-+]`).FindAllString(stdout, -1))
	if code != exitOK || !strings.Contains(stdout, "@@ ") || !regexp.MustCompile(`(?m)^\+.*1e-0?5`).MatchString(stdout) || changed == 0 || changed > 100 {
		t.Errorf("exit %d, %d lines changed: %s%.3000s", code, changed, stderr, stdout)
	}
}

// TestInitAdvice: the command that init names compiles the spec where it lies.
func TestInitAdvice(t *testing.T) {
	linked(t, "plm-mini-Q4_K_M.gguf")
	code, stdout, stderr := mlagen("init", "-gguf", "my.gguf", "-o", "plm.yaml")
	if code != exitOK || !strings.HasSuffix(stdout, "compile it with: mlagen -spec plm.yaml -o plm.mla\n") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	_, command, _ := strings.Cut(strings.TrimSpace(stdout), ": mlagen ")
	if code, _, stderr := mlagen(strings.Fields(command)...); code != exitOK {
		t.Error(stderr)
	}
	if text, err := os.ReadFile("plm.yaml"); err != nil || strings.Contains(string(text), "$schema") {
		t.Errorf("it names a schema that is not there: %.200s, %v", text, err)
	}
}
