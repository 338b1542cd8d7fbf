// Package objects is a cache of compiled objects, in a folder that programs share. sim/exec/store.h describes
// its layout and its bound; the C++ programs of sim/exec use it, too.
package objects

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Variable is the environment variable with the folder, if it is not the default.
	Variable = "MLA_KERNEL_CACHE"
	// BytesVariable is the environment variable with the largest size of the folder in bytes.
	BytesVariable = "MLA_KERNEL_CACHE_BYTES"
)

// block is the space that a small file takes in a file system, and defaultBound the default size of the
// folder, in bytes.
const block, defaultBound = 4096, 2 << 30

// Folder returns the folder of the cache.
func Folder() string {
	if folder := os.Getenv(Variable); folder != "" {
		return folder
	}
	user, err := os.UserCacheDir()
	if err != nil {
		user = os.TempDir()
	}
	return filepath.Join(user, "mla", "objects")
}

func bound() int64 {
	if n, err := strconv.ParseInt(os.Getenv(BytesVariable), 10, 64); err == nil && n > 0 {
		return n
	}
	return defaultBound
}

// Key returns the key of an object that depends on parts, in this order.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find returns the object with a key, if the cache has it and it is intact.
func Find(key string) (object []byte, ok bool) {
	index := filepath.Join(Folder(), "k-"+key)
	line, err := os.ReadFile(index)
	hash, ended := strings.CutSuffix(string(line), "\n")
	if sum, _ := hex.DecodeString(hash); err != nil || !ended || len(sum) != sha256.Size {
		return nil, false
	}
	path := filepath.Join(Folder(), "o-"+hash)
	if object, err = os.ReadFile(path); err != nil {
		return nil, false
	}
	if sum := sha256.Sum256(object); hex.EncodeToString(sum[:]) != hash {
		_ = os.Remove(path) // the caller makes it again
		return nil, false
	}
	now := time.Now()
	return object, errors.Join(os.Chtimes(index, now, now), os.Chtimes(path, now, now)) == nil
}

// Keep stores an object under a key. An error means only that it is not cached.
func Keep(key string, object []byte) error {
	w, err := NewWork()
	if err != nil {
		return err
	}
	defer w.Close()
	sum := sha256.Sum256(object)
	hash := hex.EncodeToString(sum[:])
	for name, text := range map[string][]byte{"o-" + hash: object, "k-" + key: []byte(hash + "\n")} {
		part := filepath.Join(w.Path, name)
		if err := os.WriteFile(part, text, 0o600); err != nil {
			return err
		}
		if err := os.Rename(part, filepath.Join(Folder(), name)); err != nil {
			return err
		}
	}
	return trim()
}

// Work is a temporary folder for objects that are being made. It is locked while its program runs, so a
// folder without a lock belongs to a program that was killed.
type Work struct {
	Path string
	lock *os.File
}

// NewWork creates a Work, and removes those of killed programs.
func NewWork() (*Work, error) {
	if err := os.MkdirAll(Folder(), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, err := filepath.Glob(filepath.Join(Folder(), "w-*"))
	if err != nil {
		return nil, err
	}
	for _, path := range old {
		if f, err := os.Open(path); err == nil {
			if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				_ = os.RemoveAll(path) // if it fails, the next program removes it
			}
			f.Close()
		}
	}
	path, err := os.MkdirTemp(Folder(), "w-")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	return &Work{path, f}, err
}

// Close removes the folder, unless it was renamed.
func (w *Work) Close() error { return errors.Join(os.RemoveAll(w.Path), w.lock.Close()) }

// lock locks the cache against other programs, until unlock is called or this program ends.
func lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(Folder(), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// trim removes the least recently used objects until the cache has its allowed size.
func trim() error {
	unlock, err := lock()
	if err != nil {
		return err
	}
	defer unlock()
	list, err := os.ReadDir(Folder())
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	sum := int64(0)
	size := func(f fs.FileInfo) int64 { return (f.Size() + block - 1) / block * block }
	for _, e := range list {
		if info, err := e.Info(); err == nil && (strings.HasPrefix(e.Name(), "o-") || strings.HasPrefix(e.Name(), "k-")) {
			files, sum = append(files, info), sum+size(info)
		}
	}
	if sum <= bound() {
		return nil
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, f := range files {
		if sum <= bound()-bound()/8 { // a margin, so that not every Keep has to trim
			break
		}
		if os.Remove(filepath.Join(Folder(), f.Name())) == nil {
			sum -= size(f)
		}
	}
	return nil
}
