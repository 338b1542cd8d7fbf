package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// The compiled pipelines of the kernels that a file needs are kept in an archive, which only saves time: if
// anything is wrong with it, pipelines are made without it.

// archivePath is the path of the archive for a bundle's functions on this GPU and system; "" if archives are
// not kept. The name covers the functions and their origin, so an archive that can be opened has all of them.
func (d *Device) archivePath(b *plan.Bundle, functions []string, origin string) string {
	if d.options.Cache == "" {
		return ""
	}
	hash := sha256.Sum256([]byte(strings.Join(append([]string{d.Info.Name, d.OS, filepath.Base(origin)}, functions...), "\x00")))
	return filepath.Join(d.options.Cache, stem(b)+"-"+hex.EncodeToString(hash[:6])+ending)
}

// storedArchive opens an archive that an earlier process has written. It is nil if there is none, or if it
// cannot be read.
func storedArchive(gpu mtl.Device, path string) mtl.Archive {
	if _, err := os.Stat(path); path == "" || err != nil {
		return mtl.Archive{}
	}
	a, err := gpu.NewArchive(path)
	if err != nil {
		return mtl.Archive{}
	}
	return a
}

// patience is how long the end of a session waits for its archive to be written.
var patience = 3 * time.Second

// saving writes an archive in the background. As this compiles the kernels a second time, it begins after the
// first token. The methods of a nil saving do nothing.
type saving struct {
	gpu       mtl.Device // owned by the runner
	library   mtl.Library
	functions []string
	indirect  bool // pipelines support indirect command buffers
	// persistent has the functions of persistent kernels.
	persistent map[string]bool
	path       string

	begun bool
	hurry atomic.Bool // tells save to stop
	done  chan struct{}
}

// newSaving returns a saving that owns the library.
func newSaving(gpu mtl.Device, l mtl.Library, functions []string, indirect bool, persistent map[string]bool, path string) *saving {
	return &saving{gpu: gpu, library: l, functions: functions, indirect: indirect, persistent: persistent, path: path, done: make(chan struct{})}
}

// begin starts to write the archive, at the first call only.
func (s *saving) begin() {
	if s == nil || s.begun {
		return
	}
	s.begun = true
	go func() {
		defer close(s.done)
		_ = mtl.Pool(s.save) // without the archive the next start takes as long as this one
	}()
}

// end waits up to patience for the archive to be written, and releases the library.
func (s *saving) end() {
	if s == nil {
		return
	}
	if s.begun {
		select {
		case <-s.done:
		case <-time.After(patience):
			s.hurry.Store(true)
			<-s.done
		}
	}
	s.library.Release()
}

// save makes an archive of all functions and writes it.
func (s *saving) save() error {
	a, err := s.gpu.NewArchive("")
	if err != nil {
		return err
	}
	defer a.Release()
	for _, f := range s.functions {
		if s.hurry.Load() {
			return nil
		}
		if err := mtl.Pool(func() error { return add(a, s.library, f, s.indirect, s.persistent[f]) }); err != nil {
			return err
		}
	}
	return write(a, s.path)
}

// add compiles a function into the archive.
func add(a mtl.Archive, l mtl.Library, function string, indirect, persistent bool) error {
	p, err := l.NewDescriptor(function, indirect, persistent)
	if err != nil {
		return err
	}
	defer p.Release()
	return a.Add(p)
}

// write writes an archive under a temporary name and renames it. Remains of a killed process are removed.
func write(a mtl.Archive, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	removeStale(filepath.Dir(path))
	temp, err := os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "archive")
	if err := a.Write(file); err != nil {
		return err
	}
	return os.Rename(file, path)
}

const (
	// ending is the file name extension of archives.
	ending = ".metalarchive"
	// unfinished follows an archive's name in the name of its temporary folder.
	unfinished = ".new"
	// stale is the age from which no process can still be writing to a temporary folder.
	stale = time.Hour
)

// removeStale removes stale temporary folders.
func removeStale(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.Contains(e.Name(), ending+unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.RemoveAll(filepath.Join(cache, e.Name())) // else at the next start
		}
	}
}
