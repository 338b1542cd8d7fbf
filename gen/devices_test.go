package gen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// deviceNames matches names of devices, of their vendors, and of features that only one vendor has.
var deviceNames = regexp.MustCompile(`(?i)nvidia|\bapple|ClassApple|ampere|hopper|blackwell|multiprocessor|cp\.async|cuda|geforce|\brtx|\bsm_\d|\b[abh][12]00\b` +
	`|\b(?-i:M[1-9])\b( (Pro|Max|Ultra))?`)

// measurements are figures of speed in a comment: they belong into a table of gen/target, where
// a row has its source and its date.
var measurements = regexp.MustCompile(`\d[\d,.]* ?(tok/s|µs|ms\b|GB/s)`)

// deviceHomes are the packages that may name devices, and why.
var deviceHomes = map[string]string{
	"gen/target":   "it is the tables of what devices have",
	"gen/ptx":      "it prints one maker's language, for that maker's devices alone",
	"gen/metallib": "it runs one maker's compiler on one maker's computers",
}

// deviceWords are single names elsewhere, by file, and why.
var deviceWords = map[string]struct{ word, why string }{
	"gen/fingerprint/table.go": {"cuda", "a kind of line of specs/fingerprints.txt, which the printer for that language makes"},
}

// TestDevices: no package of the compiler but gen/target names a device or its maker, in code or in
// comments, and none has measurements in comments.
func TestDevices(t *testing.T) {
	files, used := 0, map[string]bool{}
	for _, name := range tracked(t, "gen/*.go") {
		if home := homeOf(name); home != "" {
			used[home] = true
			continue
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		text := string(read(t, name))
		if exception, ok := deviceWords[name]; ok {
			used[name] = strings.Contains(text, exception.word)
			text = strings.ReplaceAll(text, `"`+exception.word+`"`, `""`)
		}
		for i, line := range strings.Split(text, "\n") {
			if m := deviceNames.FindString(line); m != "" {
				t.Errorf("%s:%d names %q: what a device has is a row of gen/target", name, i+1, m)
			}
		}
		for _, m := range figuresIn(t, name, text) {
			t.Errorf("%s: a comment has the figure %q: measurements are the source of a row of gen/target", name, m)
		}
	}
	if files < 100 {
		t.Errorf("%d files", files)
	}
	for home := range deviceHomes {
		if !used[home] {
			t.Errorf("%s has no files", home)
		}
	}
	for name := range deviceWords {
		if !used[name] {
			t.Errorf("%s has no longer the word that is excepted", name)
		}
	}
}

// homeOf is the package of a file that may name devices; "": it may not.
func homeOf(name string) string {
	for home := range deviceHomes {
		if strings.HasPrefix(filepath.ToSlash(name), home+"/") {
			return home
		}
	}
	return ""
}

// figuresIn are the figures in a file's comments.
func figuresIn(t *testing.T, name, text string) (list []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Comments {
		list = append(list, measurements.FindAllString(commentText(c), -1)...)
	}
	return list
}

func commentText(c *ast.CommentGroup) string { return strings.ReplaceAll(c.Text(), "\n", " ") }

// TestDeviceNames checks deviceNames: it matches device names, and does not match similar words.
func TestDeviceNames(t *testing.T) {
	for _, bad := range []string{"plan.ClassNVIDIA", "// Apple's", "an H100", "M3 Pro", "cp.async", "Ampere", "cudaKind", "plan.ClassApple7", "sm_90"} {
		if !deviceNames.MatchString(bad) {
			t.Errorf("%q is not found", bad)
		}
	}
	for _, good := range []string{"m1 := 3", "grapple", "E2M1", "MLX", "b100s", "Maximum", "pm1"} {
		if m := deviceNames.FindString(good); m != "" {
			t.Errorf("%q names %q", good, m)
		}
	}
	for _, bad := range []string{"962 tok/s", "1,251 tok/s", "12 µs late", "took 3.8 µs"} {
		if !measurements.MatchString(bad) {
			t.Errorf("%q is not found", bad)
		}
	}
}
