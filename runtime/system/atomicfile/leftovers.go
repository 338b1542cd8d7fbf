package atomicfile

import (
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// ending is the suffix of temporary files. No other program uses it.
const ending = ".mla-unfinished"

var unfinished = regexp.MustCompile(`^\..+\.[0-9a-f]{8}` + regexp.QuoteMeta(ending) + `$`)

// removeLeftovers removes temporary files of killed writers. A file that is being written is locked, and its
// lock ends with its process. Nothing is removed from a folder that cannot be read, or whose file system has
// no locks.
func removeLeftovers(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && unfinished.MatchString(e.Name()) {
			removeLeftover(filepath.Join(folder, e.Name()))
		}
	}
}

func removeLeftover(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) == nil && same(f) {
		_ = os.Remove(path) // if it fails, the next writer tries again
	}
}

// lock takes the lock of a file. It fails with EWOULDBLOCK if another writer, of this or another process,
// holds it.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
