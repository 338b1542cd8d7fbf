package gen_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = ".."

// tracked lists the files of the repository that match the patterns.
func tracked(t *testing.T, patterns ...string) []string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"ls-files"}, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// maxLines is the most lines that a file may have which people write and read.
const maxLines = 400

// TestFileLengths: hand-written files are short. Tables of tests may be longer.
func TestFileLengths(t *testing.T) {
	files := tracked(t, "*.go", "*.msl", "templates/*.metal", "*.cpp", "*.h", "*.py", "*.sh")
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	for _, name := range files {
		generated := strings.HasPrefix(name, "generated/") || strings.HasPrefix(filepath.Base(name), "z")
		if n := bytes.Count(read(t, name), []byte("\n")); n > maxLines && !generated && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s has %d lines; expected at most %d: is there more than one idea in it?", name, n, maxLines)
		}
	}
}

// maxGenerated is the most bytes of generated/ in git.
const maxGenerated = 4_000_000

// folderBytes is what a folder takes in a file system.
const folderBytes = 4096

// TestGeneratedSize: every clone has to carry generated/, which with its folders is no larger
// than that, as `du -sb` counts.
func TestGeneratedSize(t *testing.T) {
	size, folders := 0, map[string]bool{}
	for _, name := range tracked(t, "generated") {
		size += len(read(t, name))
		folders[filepath.Dir(name)] = true
	}
	size += folderBytes * len(folders)
	if size < 1<<20 || size > maxGenerated {
		t.Errorf("generated/ has %d bytes; expected 1 MiB to %d", size, maxGenerated)
	}
}

// maxBinary is the most bytes of a binary in git.
const maxBinary = 200_000

// large are the binaries in git above maxBinary: small models with their logits. Every clone
// has to carry them, so there are no further ones.
var large = []string{
	"runtime/text/tokenizer/testdata/deepseek-llm.gguf",
	"testdata/hybrid/bailingmoe3-mini-Q4_0.gguf", "testdata/hybrid/bailingmoe3-mini-Q4_K_M.gguf", "testdata/hybrid/kimi-linear-mini-Q4_0.gguf",
	"testdata/models/gigachat3-mini-Q4_0.gguf", "testdata/models/glm47mtp-mini-Q4_K_M.gguf", "testdata/models/minicpm3-mini-Q4_0.gguf",
	"testdata/models/mistral4-mini-Q4_K_M.gguf", "testdata/models/mistrallarge3-mini-Q4_K_M.gguf",
	"testdata/models/nextn/mtp-glm47mtp-mini-Q4_K_M.gguf", "testdata/models/plm-mini-Q4_K_M.gguf",
	"testdata/reference/dsv2lite-mini-Q4_K_M.gguf", "testdata/reference/glm47-mini-Q4_K_M.gguf", "testdata/reference/glm47-tiny-Q4_0.gguf",
	"testdata/reference/youtu-mini-Q4_0.gguf", "testdata/reference/youtu-mini-Q4_K_M.gguf", "testdata/reference/youtu-tiny-F32.gguf",
	"testdata/reference/youtu-tiny-legacykvb-F32.gguf",
	"testdata/tinychat.gguf", "testdata/tinyglm.gguf", "testdata/tinyglm.logits.npy",
}

// TestBinaries checks that git has no file above maxBinary bytes that is not listed, so that nobody commits a
// compiled program by mistake.
func TestBinaries(t *testing.T) {
	var found []string
	for _, name := range tracked(t) {
		if data := read(t, name); len(data) > maxBinary && bytes.IndexByte(data[:8000], 0) >= 0 {
			found = append(found, name)
		}
	}
	if slices.Sort(found); !slices.Equal(found, large) {
		t.Errorf("binaries above %d bytes are\n%s\nexpected\n%s", maxBinary, strings.Join(found, "\n"), strings.Join(large, "\n"))
	}
}

// TestWhereToAdd: every place that ARCHITECTURE.md names exists.
func TestWhereToAdd(t *testing.T) {
	_, table, ok := strings.Cut(string(read(t, "ARCHITECTURE.md")), "## Where to add things\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no section of that name")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	places := regexp.MustCompile("`([a-z][a-z0-9_.]*/[a-z0-9_./-]*)`").FindAllStringSubmatch(table, -1)
	if len(places) < 15 {
		t.Fatalf("%d places", len(places))
	}
	for _, p := range places {
		if _, err := os.Stat(filepath.Join(root, p[1])); err != nil {
			t.Errorf("a place to add things: %v", err)
		}
	}
}

// TestContributing checks that the table in CONTRIBUTING.md names a command to run for every folder with
// code. A row covers the folders below its own.
func TestContributing(t *testing.T) {
	_, table, ok := strings.Cut(string(read(t, "CONTRIBUTING.md")), "## What to run after which change\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section of that name")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1) {
		for _, folder := range regexp.MustCompile("`([a-z0-9/]+)`").FindAllStringSubmatch(row[1], -1) {
			named[folder[1]] = true
			if _, err := os.Stat(filepath.Join(root, folder[1])); err != nil {
				t.Errorf("CONTRIBUTING.md: %v", err)
			}
		}
	}
	var without []string
	for _, file := range tracked(t, "*.go", "*.msl", "templates/*.metal", "*.cpp", "*.h", "*.sh", "*.py", "*.yaml") {
		folder := filepath.Dir(file)
		covered := folder == "." || strings.HasPrefix(folder, ".") || strings.Contains(folder, "testdata")
		for at := folder; at != "." && !covered; at = filepath.Dir(at) {
			covered = named[at]
		}
		if !covered && !slices.Contains(without, folder) {
			without = append(without, folder)
		}
	}
	if len(named) < 50 || len(without) > 0 {
		t.Errorf("CONTRIBUTING.md names %d folders, and says for none of these which test to run: %q", len(named), without)
	}
}

// TestDependencies checks that go.mod has a comment on every direct dependency, and says which dependency
// needs each indirect one.
func TestDependencies(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^\t\S+ v\S+(.*)$`).FindAllStringSubmatch(string(read(t, "go.mod")), -1)
	if len(lines) < 20 {
		t.Fatalf("%d dependencies", len(lines))
	}
	for _, m := range lines {
		if comment := strings.TrimSpace(m[1]); comment == "" || comment == "// indirect" {
			t.Errorf("go.mod does not say what this is for:%s", strings.TrimPrefix(m[0], "\t"))
		}
	}
}

// goroutines matches code that starts a goroutine, or a type that synchronises goroutines.
var goroutines = regexp.MustCompile(`\bgo func\b|\bgo [a-z]\w*(\.\w+)*\(|\.Go\(|\bsync\.(Mutex|RWMutex|Map|Cond|WaitGroup)\b|\batomic\.\w`)

// raced lists the folders of a variable of the Makefile. end is the beginning of a later line.
func raced(t *testing.T, list, end string) (dirs []string) {
	t.Helper()
	_, text, _ := strings.Cut(string(read(t, "Makefile")), "\n"+list+" = ")
	text, _, _ = strings.Cut(text, "\n"+end)
	for _, dir := range strings.Fields(strings.ReplaceAll(text, "\\", " ")) {
		dirs = append(dirs, strings.TrimPrefix(dir, "./"))
	}
	return dirs
}

// TestRace: what uses goroutines at run time is tested under the race detector. Of packages of
// which only some tests are, those are that start goroutines.
func TestRace(t *testing.T) {
	called := raced(t, "RACE_CALLED", "RACE_SOME")
	dirs := slices.Concat(raced(t, "RACE", "RACE_CALLED"), called, raced(t, "RACE_SOME", "RACE_TESTS"))
	covered := func(dir string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool {
			below, all := strings.CutSuffix(d, "/...")
			return dir == below || all && strings.HasPrefix(dir, below+"/")
		})
	}
	for _, file := range tracked(t, "runtime/*.go") {
		if dir := filepath.Dir(file); !strings.HasSuffix(file, "_test.go") && goroutines.Match(read(t, file)) && !covered(dir) {
			t.Errorf("%s uses goroutines, and is not in the Makefile's RACE", file)
		}
	}
	for _, dir := range called {
		watched := 0
		for _, file := range tracked(t, dir+"/*_test.go") {
			for _, m := range testFunctions.FindAllSubmatch(read(t, file), -1) {
				if atOnce := bytes.HasSuffix(m[1], []byte("AtOnce")); atOnce != goroutines.Match(m[0]) {
					t.Errorf("%s: %s: tests that start goroutines have names that end in AtOnce, and no others do", file, m[1])
				} else if atOnce {
					watched++
				}
			}
		}
		if watched == 0 {
			t.Errorf("%s is in the Makefile's RACE_CALLED, and no test of it starts goroutines", dir)
		}
	}
}

// testFunctions is a test, whole.
var testFunctions = regexp.MustCompile(`(?sm)^func (Test\w+)\(.*?^}`)

// TestDeepInTests: what asks for the deep tier is a test, as tools/tests looks at nothing else
// when it lists the tests that the tag changes.
func TestDeepInTests(t *testing.T) {
	tests := 0
	for _, file := range tracked(t, "*.go") {
		if !bytes.Contains(read(t, file), []byte("\"mla/tools/tests/deep\"\n")) {
			continue
		}
		if tests++; !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s asks for the deep tier, and is no test", file)
		}
	}
	if tests < 20 {
		t.Errorf("only %d tests ask for the deep tier", tests)
	}
}
