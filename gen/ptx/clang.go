package ptx

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"mla/gen/objects"
)

//go:embed include
var include embed.FS

// clang is the compiler. Other versions make different PTX.
const clang = "clang-19"

// flags are the flags of clang: no CUDA SDK, IEEE arithmetic, fused multiply-add only where the source says
// fma. PTX 7.8 can be read by drivers of CUDA 11.8, the first version that knows sm_90. SPLIT_ROWS: the
// fields of blocks are in separate arrays, because words of unaligned blocks would need two loads each.
// Weights are copied to these devices anyway, and runtime/device/cuda changes their layout on the way.
// Clang's pass that combines vectors would split such a load of two words into two loads, so it is disabled.
var flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_90", "--cuda-feature=+ptx78",
	"-std=c++20", "-O3", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-verbose-asm",
	"-Wno-unknown-cuda-version", "-Werror=unknown-pragmas", "-Wno-duplicate-decl-specifier", "-Wno-pass-failed",
	"-DSPLIT_ROWS=true", "-mllvm", "-disable-vector-combine", "-Iinclude", "-S", "-o", "-", "kernels.cu",
}

// compile returns the PTX of translated source, from the cache if an earlier program has compiled it.
func compile(cuda string) ([]byte, error) {
	version, err := clangVersion()
	if err != nil {
		return nil, err
	}
	parts := []string{"ptx", version, strings.Join(flags, " "), cuda}
	err = readIncludes(func(path string, text []byte) { parts = append(parts, path, string(text)) })
	if err != nil {
		return nil, err
	}
	key := objects.Key(parts...)
	if text, ok := objects.Find(key); ok {
		return text, nil
	}
	text, err := runClang(cuda)
	if err != nil {
		return nil, err
	}
	_ = objects.Keep(key, text) // without it the next program compiles again
	return text, nil
}

func runClang(cuda string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ptx")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, include); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "kernels.cu"), []byte(cuda), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(clang, flags...)
	cmd.Dir = dir
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s cannot compile the translated kernels: %w\n%s", clang, err, problems.Bytes())
	}
	return out.Bytes(), nil
}

var versionLine = regexp.MustCompile(`clang version (\d+\.\d+\.\d+)`)

// Compiler returns an error that says what is missing to compile kernels, or nil.
func Compiler() error {
	_, err := clangVersion()
	return err
}

// clangVersion returns the version of the compiler, such as 19.1.7.
func clangVersion() (string, error) {
	out, err := exec.Command(clang, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("compiling kernels to PTX needs %s: apt-get install %s (%w)", clang, clang, err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s --version does not tell its version: %q", clang, out)
	}
	return string(m[1]), nil
}

// readIncludes calls f with each header, in a fixed order.
func readIncludes(f func(path string, text []byte)) error {
	return fs.WalkDir(include, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := include.ReadFile(path)
		f(path, text)
		return err
	})
}
