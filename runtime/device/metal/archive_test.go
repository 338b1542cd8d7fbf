package metal_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/metal"
	"mla/runtime/doctor/reference"
)

func init() {
	cases["archive"] = inFolder(archive)
	cases["archives"] = inFolder(archives)
	cases["archive, no token"] = inFolder(func(lib, folder string) error {
		err := withArchive(lib, tiny, folder, func(device.Runner) error { return nil })
		return orElse(err, holds(folder))
	})
	cases["archive, slow"] = inFolder(slowArchive)
	cases["archive, given up"] = inFolder(givenUp)
	cases["archive, failure"] = inFolder(archiveFailure)
	cases["archive, nowhere"] = inFolder(func(lib, folder string) error {
		file := filepath.Join(folder, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		return withArchive(lib, tiny, filepath.Join(file, "cache"), token)
	})
	cases["archive, remains"] = inFolder(remains)
	cases["archive, new folder"] = inFolder(newFolder)
	cases["archive, twice"] = inFolder(func(lib, folder string) error {
		return orElse(withArchive(lib, tiny, folder, token), withArchive(lib, tiny, folder, token))
	})
}

// TestArchiveUsed checks that a second start looks for all pipelines in the archive of the first start.
// Without the test only the speed would show it.
func TestArchiveUsed(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), caseVariable+"=archive, twice|"+library(t), "METALSIM_STRICT=1", "METALSIM_KERNELS=stub", "METALSIM_TRACE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, head(out))
	}
	made := bytes.Count(out, []byte(" newComputePipelineStateWithDescriptor:"))
	if with := bytes.Count(out, []byte(" setBinaryArchives:")); made == 0 || 2*with != made {
		t.Errorf("%d of %d pipelines of two starts were looked for in an archive", with, made)
	}
}

// inFolder gives a case a folder for archives.
func inFolder(run func(lib, folder string) error) func(lib string) error {
	return func(lib string) error {
		folder, err := os.MkdirTemp("", "archive")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		metal.SetPatience(time.Minute)
		return run(lib, folder)
	}
}

// newFolder checks that new folders can be read by others and changed by the user only.
func newFolder(lib, folder string) error {
	defer syscall.Umask(syscall.Umask(0))
	cache := filepath.Join(folder, "mla", "archives")
	if err := withArchive(lib, tiny, cache, token); err != nil {
		return err
	}
	info, err := os.Stat(filepath.Dir(cache))
	if err == nil && info.Mode().Perm() != 0o755 {
		err = fmt.Errorf("a new folder has mode %v", info.Mode())
	}
	return err
}

// withArchive runs f on a runner that keeps its archive in folder.
func withArchive(lib, name, folder string, f func(device.Runner) error) error {
	return with(lib, name, tinyConfig, metal.Options{Cache: folder}, f)
}

func token(r device.Runner) error {
	_, err := r.Replay(reference.Rows(1, 0), device.All(1))
	return err
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// holds checks that folder has one complete archive for each of the named files, and nothing else.
func holds(folder string, names ...string) error {
	var want []string
	for _, name := range names {
		m, done, err := reference.Bind(name, generated.Bundles(), "f32")
		if err != nil {
			return err
		}
		functions, err := m.Functions(tinyConfig, "")
		if err = orElse(err, done()); err != nil {
			return err
		}
		slices.Sort(functions)
		want = append(want, strings.Join(functions, "\n"))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var got []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil || !strings.HasSuffix(e.Name(), ".metalarchive") {
			return fmt.Errorf("%s: %v", e.Name(), err)
		}
		_, functions, _ := strings.Cut(strings.TrimSpace(string(text)), "\n") // after the simulator's line
		got = append(got, functions)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("archives with %q; expected %q", got, want)
	}
	return nil
}

// archive writes an archive, then uses it, then finds it damaged.
func archive(lib, folder string) error {
	var before os.FileInfo
	for round := range 3 {
		if round == 2 {
			if err := os.WriteFile(filepath.Join(folder, before.Name()), []byte("damaged"), 0o600); err != nil {
				return err
			}
		}
		if err := orElse(withArchive(lib, tiny, folder, token), holds(folder, tiny)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		after, err := entries[0].Info()
		if err != nil {
			return err
		}
		if round > 0 && os.SameFile(before, after) != (round == 1) {
			return fmt.Errorf("round %d: written anew is %t", round, round == 1)
		}
		before = after
	}
	return nil
}

// archives keeps one for each set of kernels of the same bundle.
func archives(lib, folder string) error {
	const one, other = "youtu-mini-Q4_0", "youtu-mini-Q4_K_M"
	return orElse(orElse(withArchive(lib, one, folder, token), holds(folder, one)), orElse(withArchive(lib, other, folder, token), holds(folder, one, other)))
}

// slowArchive checks that the first token comes long before the archive, and that Close waits for the
// archive.
func slowArchive(lib, folder string) error {
	err := withArchive(lib, tiny, folder, func(r device.Runner) error {
		return orElse(token(r), holds(folder))
	})
	return orElse(err, holds(folder, tiny))
}

// givenUp checks that nothing is left of an archive for which Close does not wait.
func givenUp(lib, folder string) error {
	metal.SetPatience(0)
	return orElse(withArchive(lib, tiny, folder, token), holds(folder))
}

// archiveFailure checks that an archive that fails changes nothing else, and that the next process, here the
// next runner, writes it.
func archiveFailure(lib, folder string) error {
	if err := orElse(withArchive(lib, tiny, folder, token), holds(folder)); err != nil {
		return err
	}
	return orElse(withArchive(lib, tiny, folder, token), holds(folder, tiny))
}

// remains checks that the files which a killed process left of an archive are removed when they are old, and
// that all other files stay.
func remains(lib, folder string) error {
	old := time.Now().Add(-metal.Stale - time.Minute)
	for _, name := range []string{"x.metalarchive.new1", "x.metalarchive.new2", "other.new3"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, "archive"), nil, 0o600); err != nil {
			return err
		}
		if strings.HasSuffix(name, "2") {
			continue
		}
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	if err := withArchive(lib, tiny, folder, token); err != nil {
		return err
	}
	for name, stays := range map[string]bool{"x.metalarchive.new1": false, "x.metalarchive.new2": true, "other.new3": true} {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			return fmt.Errorf("%s: %v; expected to stay: %t", name, err, stays)
		}
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return holds(folder, tiny)
}
