package manual

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a small one, with everything that can go wrong in its texts.
func program() *Program {
	run := flag.NewFlagSet("", flag.ContinueOnError)
	run.String("model", "", "model `file` with 'quotes' and \\ and [brackets]: all")
	run.Var(run.Lookup("model").Value, "m", "")
	run.Int("n", 128, "tokens to generate")
	run.String("kind", "", "the `kind`")
	run.Bool("chat", false, "talk; more")
	run.String("hub", "", "a model `name[:type]`")
	run.Func("stop", "end before this `string`", func(string) error { return nil })
	run.Func("x", "", func(string) error { return nil }) // another name of something: cannot be told of what
	bench := flag.NewFlagSet("", flag.ContinueOnError)
	bench.Int("r", 3, "rounds (default: three)")
	list := Flags(run)
	list[slices.IndexFunc(list, func(f Flag) bool { return f.Value == "kind" })].Values = []string{"red", "blue"}
	return &Program{Name: "prog", Version: "1.0", Does: "it's a test", Exits: "0 or 1.", Commands: []Command{
		{Args: "-model F", Does: ".starts with a dot", Flags: list},
		{Name: "bench", Args: "[-r N]", Does: "measure", Flags: Flags(bench)},
	}}
}

func TestFlags(t *testing.T) {
	got := program().Commands[0].Flags
	var names []string
	for _, f := range got {
		names = append(names, strings.Join(f.Names, "=")+" "+f.Value+" "+f.Default)
	}
	if text := strings.Join(names, "; "); text != "chat  ; hub name[:type] ; kind kind ; model=m file ; n int 128; stop string " {
		t.Error(text)
	}
}

func TestPage(t *testing.T) {
	page := program().Page()
	for _, want := range []string{
		".TH PROG 1 \"\" \"prog 1.0\"", "prog \\- it\\(aqs a test\n", "\\&.starts with a dot\n", ".SH \"OPTIONS OF PROG BENCH\"\n",
		".TP\n\\fB\\-model\\fR, \\fB\\-m\\fR \\fIfile\\fR\nmodel file with \\(aqquotes\\(aq and \\e and [brackets]: all\n",
		"\\fIint\\fR\ntokens to generate (default 128)\n", ".SH EXIT STATUS\n0 or 1.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

// TestBash asks bash what it would complete.
func TestBash(t *testing.T) {
	dir := t.TempDir()
	script, _ := program().Completion("bash")
	for name, text := range map[string]string{"prog.bash": script, "model.gguf": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"prog -", "-chat -hub -kind -model -m -n -stop"},
		{"prog -mo", "-model"},
		{"prog be", "bench"},
		{"prog mod", ""},
		{"prog bench -", "-r"},
		{"prog -m mod", "model.gguf"},
		{"prog -n mod", ""},
		{"prog --mo", "--model"},
		{"prog --kind b", "blue"},
		{"prog -kind", "-kind"},
		{"prog bench mod", "model.gguf"},
	} {
		words := strings.Split(c.line, " ")
		cmd := exec.Command("bash", "-c", `. ./prog.bash; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _prog; echo "${COMPREPLY[*]}"`, "bash")
		cmd.Args, cmd.Dir = append(cmd.Args, words...), dir
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.line, got, err, c.want)
		}
	}
}

func TestOtherShells(t *testing.T) {
	p := program()
	for shell, wants := range map[string][]string{
		"zsh":  {"#compdef prog\n", `'*-m[model file with '\''quotes'\'' and \\ and \[brackets\]\: all]:file:_files'`, "'bench:measure'", `'*-n[tokens to generate]:int: '`, `:kind:(red blue)`, `'*-hub[a model name\[\:type\]]:name[\:type]: '`},
		"fish": {`complete -c prog -n '__fish_seen_subcommand_from bench' -o r -d 'rounds (default: three)' -x`, `-o model -d 'model file with \'quotes\' and \\ and [brackets]: all' -r -F`, `-o kind -d 'the kind' -x -a 'red blue'`},
	} {
		text, ok := p.Completion(shell)
		for _, want := range wants {
			if !ok || !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", shell, want, text)
			}
		}
	}
	if _, ok := p.Completion("cmd"); ok {
		t.Error("an unknown shell is completed")
	}
}
