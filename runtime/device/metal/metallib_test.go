package metal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/device/metal"
	"mla/runtime/device/metal/mtl"
	"mla/runtime/doctor/check"
	"mla/runtime/plan"
)

func init() {
	cases["library of none"] = origin(libraryFolder, metal.FromSource)
	cases["library of the source"] = origin(libraryFolder, filepath.Join(libraryFolder, metal.LibraryName(bundle(libraryBundle))))
}

// libraryFolder is where the cases look for compiled libraries, in their working
// folder.
const (
	libraryFolder = "libraries"
	libraryBundle = "yoututiny"
)

// origin checks where a kernel comes from.
func origin(folder, want string) func(lib string) error {
	return func(lib string) error {
		d, err := metal.Open(metal.Options{Library: lib, Replay: metal.ReplayICB, Compiled: folder})
		if err != nil {
			return err
		}
		b := bundle(libraryBundle)
		l, err := d.NewLauncher(b, b.Functions())
		if err != nil {
			return err
		}
		defer l.Close()
		if l.Origin() != want {
			return fmt.Errorf("kernels are from %q; expected %q", l.Origin(), want)
		}
		cases, err := check.Cases(b)
		if err != nil {
			return err
		}
		for i := range cases {
			if r := cases[i].Check(l); !r.OK() {
				return errors.New(r.Problem())
			}
		}
		return nil
	}
}

// xcrun stands for Apple's tool: it copies its input instead of compiling and linking.
const xcrun = `#!/bin/sh
[ "$1 $2" = "-sdk macosx" ] || exit 1
[ "$3" != -f ] || exit 0
tool=$3
shift 3
while [ $# -gt 0 ]; do
	case "$1" in
	-o) to=$2; shift ;;
	-c) ;;
	-*) flags="$flags $1" ;;
	*) from=$1 ;;
	esac
	shift
done
case "$flags" in *" -std=${REFUSED:-none}"*) echo "error: invalid value '$REFUSED' in '-std='" >&2; exit 1 ;; esac
[ "$tool" = metallib ] || echo "$(basename "$from" .metal)$flags" >>"$FLAGS"
cp "$from" "$to"
`

// flags returns the compiler's flags for a bundle, which ask for the same as mtl.Device.NewLibrary.
func flags(b *plan.Bundle) string {
	const version = mtl.Language3_1
	return fmt.Sprintf("%s -std=metal%d.%d -mmacosx-version-min=14.0 %s", b.Name, version>>16, version&0xffff, mtl.MathFlag)
}

// TestMetallibProbe checks an older Xcode, which refuses a version of the language: the script reports it if
// kernels need that version, and compiles them otherwise (rule 22).
func TestMetallibProbe(t *testing.T) {
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "xcrun"), []byte(xcrun), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(std, refused, out string) (string, error) {
		script := exec.Command("sh", "../../../scripts/metallib.sh", out)
		script.Env = append(os.Environ(), "METAL_STD="+std, "REFUSED="+refused, "FLAGS="+filepath.Join(tools, "flags"), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		text, err := script.CombinedOutput()
		return string(text), err
	}
	if text, err := run("list", "metal3.2", ""); err != nil || text != "metal3.0\nmetal3.1\nmetal4.0\n" {
		t.Errorf("%v, %q", err, text)
	}
	out := t.TempDir()
	if text, err := run("", "metal3.2", out); err != nil {
		t.Errorf("%v, %q", err, text)
	}
	if _, err := os.Stat(filepath.Join(out, metal.LibraryName(bundle("yoututiny")))); err != nil {
		t.Error(err)
	}
	if text, err := run("", "metal3.1", out); err == nil || !strings.Contains(text, "invalid value") || !strings.Contains(text, "needs Apple's Metal compiler") {
		t.Errorf("%v, %q", err, text)
	}
}

// TestMetallibScript checks that make metallib names libraries as the runtime expects, compiles them as the
// runtime does, and reports what is missing on a machine without the compiler.
func TestMetallibScript(t *testing.T) {
	tools, out := t.TempDir(), t.TempDir()
	script := exec.Command("sh", "../../../scripts/metallib.sh", out)
	if text, err := script.CombinedOutput(); runtime.GOOS != "darwin" && (err == nil || !bytes.Contains(text, []byte("needs Apple's Metal compiler"))) {
		t.Errorf("without xcrun: %v\n%s", err, text)
	}
	if err := os.WriteFile(filepath.Join(tools, "xcrun"), []byte(xcrun), 0o755); err != nil {
		t.Fatal(err)
	}
	script = exec.Command("sh", "../../../scripts/metallib.sh", out)
	log := filepath.Join(tools, "flags")
	script.Env = append(os.Environ(), "FLAGS="+log, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	if text, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	compiled, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range generated.Bundles() {
		got, err := os.ReadFile(filepath.Join(out, metal.LibraryName(b)))
		if b.Class != "" && b.Class != plan.ClassApple {
			if err == nil {
				t.Errorf("bundle %s is for other devices", b.Name)
			}
			continue
		}
		if err != nil || string(got) != b.Metal() {
			t.Errorf("bundle %s: %v, %d bytes", b.Name, err, len(got))
		}
		if want := flags(b); !slices.Contains(strings.Split(string(compiled), "\n"), want) {
			t.Errorf("not compiled with %q, but:\n%s", want, compiled)
		}
	}
}
