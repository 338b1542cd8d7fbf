//go:build linux && deep

package endtoend_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// trustLine continues a text with the shipped model.
const trustLine = "-model " + root + "testdata/tinyglm.gguf -p func -n 16 -temp 0"

// TestTrust runs the shipped model where recording an indirect command buffer ends
// the process or never comes back: the text is the CPU's, by direct encoding, and
// stderr says so.
func TestTrust(t *testing.T) {
	want := host.command(nil, append(strings.Fields(trustLine), "-device", "cpu"))
	if want.err != nil || want.out == "" {
		t.Fatalf("%v\n%s", want.err, want.stderr)
	}
	for fault, why := range map[string]string{"icb-segv": "CRASHED: SIGSEGV", "icb-hang": "HUNG: no end after 20s", "": ""} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			settings := []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + folder, "METALSIM_FAULT=" + fault}
			got := host.command(settings, append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", host.lib))
			if got.err != nil || got.out != want.out {
				t.Errorf("%v, %q; expected %q\n%s", got.err, got.out, want.out, got.stderr)
			}
			encode := strings.Contains(got.stderr, "-replay auto takes encode") && strings.Contains(got.stderr, why)
			if encode != (fault != "") {
				t.Errorf("said: %s", got.stderr)
			}
			if left, err := filepath.Glob(filepath.Join(folder, "mla", "*")); err != nil || len(left) != 1+kernelArchives(left) {
				t.Errorf("%v, %q; expected a verdict", err, left)
			}
		})
	}
}

// kernelArchives counts the files of kernels beside verdicts.
func kernelArchives(files []string) (n int) {
	for _, f := range files {
		if strings.HasSuffix(f, ".metalarchive") {
			n++
		}
	}
	return n
}

// TestTrustDeleted runs a program whose file was deleted, so that it cannot start a copy of itself.
func TestTrustDeleted(t *testing.T) {
	data, err := os.ReadFile(host.mlarun)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "mlarun")
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/fd/3", append(strings.Fields(trustLine), "-device", "metal", "-metal-lib", host.lib)...)
	cmd.ExtraFiles = []*os.File{program}
	cmd.Env = append(os.Environ(), "METALSIM_KERNELS=fast", "XDG_CACHE_HOME="+folder)
	if o := run(cmd, func() {}); o.err != nil || o.out == "" || !strings.Contains(o.stderr, "takes encode, because") || !strings.Contains(o.stderr, "no such file") {
		t.Errorf("%v, %q\n%s", o.err, o.out, o.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "mla", "icb-*")); err != nil || len(left) != 0 {
		t.Errorf("%v, %q; nothing was learned", err, left)
	}
}
