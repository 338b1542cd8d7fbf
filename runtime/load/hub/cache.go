package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"mla/runtime/system/atomicfile"
)

// repo is the folder of one repository in the cache: blobs has contents by checksum, snapshots has the files
// of a commit as links to these, and refs has the commit of a branch.
type repo struct{ dir, locks string }

var (
	commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	etagID   = regexp.MustCompile(`^([0-9a-f]{64}|[0-9a-f]{40})$`)
	inCache  = regexp.MustCompile(`/models--[^/]+--[^/]+/snapshots/[^/]+/.`)
)

// Cached says whether an absolute path is a model in a cache of the hub, where other programs should not
// leave files.
func Cached(path string) bool { return inCache.MatchString(filepath.ToSlash(path)) }

// mostCached is the most files of a snapshot that are examined.
const mostCached = 10_000

func (r repo) ref() string                   { return filepath.Join(r.dir, "refs", branch) }
func (r repo) blob(etag string) string       { return filepath.Join(r.dir, "blobs", etag) }
func (r repo) snapshot(commit string) string { return filepath.Join(r.dir, "snapshots", commit) }
func (r repo) path(commit, file string) string {
	return filepath.Join(r.snapshot(commit), filepath.FromSlash(file))
}

// find returns the path of a complete model in the cache.
func (r repo) find(ref Ref) (string, error) {
	commit, err := os.ReadFile(r.ref())
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it has nothing of this repository")
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(commit))
	if !commitID.MatchString(id) {
		return "", fmt.Errorf("%s does not name a commit", r.ref())
	}
	files, err := r.files(id)
	if err != nil {
		return "", err
	}
	m, err := choose(files, ref.Quant)
	if err != nil {
		return "", err
	}
	return r.path(id, m.files[0].path), nil
}

// files lists the model files of a snapshot. A link exists only if its content is complete.
func (r repo) files(commit string) (list []file, err error) {
	root := r.snapshot(commit)
	seen := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if seen++; err != nil || seen > mostCached {
			return err
		}
		if entry.IsDir() || !isModel(path) {
			return nil
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return nil // a link to a content that was removed
		}
		name, err := filepath.Rel(root, path)
		list = append(list, file{path: filepath.ToSlash(name), size: info.Size()})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return list, err
}

// has says whether the content of a file is in the cache.
func (r repo) has(f file) bool {
	info, err := os.Stat(r.blob(f.etag))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.size
}

// part is the number of bytes of a file that are in the cache.
func (r repo) part(f file) int64 {
	if r.has(f) {
		return f.size
	}
	info, err := os.Stat(r.blob(f.etag) + unfinished)
	if err != nil {
		return 0
	}
	return min(info.Size(), f.size)
}

// fitsDisk fails if the disk has less free space than bytes.
func (r repo) fitsDisk(bytes int64) error {
	var disk syscall.Statfs_t
	if syscall.Statfs(r.dir, &disk) != nil {
		return nil // writing will show whether there is space
	}
	if free := float64(disk.Bavail) * float64(disk.Bsize); free < float64(bytes) {
		return fmt.Errorf("%.2f GB are to be loaded, and %.2f GB are free in %s; HF_HUB_CACHE names another folder", float64(bytes)/1e9, free/1e9, r.dir)
	}
	return nil
}

// prepare creates the folders.
func (r repo) prepare() error {
	var errs []error
	for _, dir := range []string{filepath.Dir(r.ref()), filepath.Join(r.dir, "blobs"), filepath.Join(r.dir, "snapshots"), r.locks} {
		errs = append(errs, os.MkdirAll(dir, 0o755))
	}
	return errors.Join(errs...)
}

// publish links all model files of a commit whose contents are in the cache, and records the commit as the
// branch's.
func (r repo) publish(l *listing) error {
	for _, f := range l.files {
		if !r.has(f) {
			continue
		}
		if err := r.link(l.commit, f); err != nil {
			return err
		}
	}
	return atomicfile.Write(r.ref(), []byte(l.commit))
}

// link links a content into a snapshot, atomically.
func (r repo) link(commit string, f file) error {
	path := r.path(commit, f.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := filepath.Rel(filepath.Dir(path), r.blob(f.etag))
	if err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(to, temp); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// lockPause is the time between two attempts to take a lock that another process holds.
const lockPause = 200 * time.Millisecond

// lock takes the lock for loading a content, which the hub's own tools use, too.
func (r repo) lock(ctx context.Context, etag string, note func(string, ...any)) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(r.locks, etag+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f.Close, nil // closing unlocks the file
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
		}
		if !told {
			note("another program is loading the file; waiting for it")
		}
		if err := sleep(ctx, lockPause); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
