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

// What the GPU's compiler makes of the kernels that a file needs is kept in an archive.
// It is only faster: whatever goes wrong with it, pipelines are made without.

// archivePath is the archive of some of a bundle's kernels for this GPU and system; ""
// if none is kept. Which kernels they are is part of its name, and where they come from:
// so an archive that can be opened has all of them.
func (d *Device) archivePath(b *plan.Bundle, functions []string, origin string) string {
	if d.options.Cache == "" {
		return ""
	}
	hash := sha256.Sum256([]byte(strings.Join(append([]string{d.Info.Name, d.OS, filepath.Base(origin)}, functions...), "\x00")))
	return filepath.Join(d.options.Cache, stem(b)+"-"+hex.EncodeToString(hash[:6])+ending)
}

// storedArchive opens an archive that a process before this one has written. It is nil
// if there is none, or none that can be read.
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

// patience is how long the end of a session waits for its archive.
var patience = 3 * time.Second

// saving writes an archive in the background: that compiles the kernels once more, so it
// begins after the first token. A nil saving has nothing to do.
type saving struct {
	gpu       mtl.Device // not its own
	library   mtl.Library
	functions []string
	indirect  bool // pipelines are for indirect command buffers
	// persistent are the functions of such kernels.
	persistent map[string]bool
	path       string

	begun bool
	hurry atomic.Bool // give up
	done  chan struct{}
}

// newSaving takes over the library.
func newSaving(gpu mtl.Device, l mtl.Library, functions []string, indirect bool, persistent map[string]bool, path string) *saving {
	return &saving{gpu: gpu, library: l, functions: functions, indirect: indirect, persistent: persistent, path: path, done: make(chan struct{})}
}

// begin starts to write, once.
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

// end waits until the archive is written, for so long as patience says, and releases
// what it was made of.
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

// add compiles a function into an archive.
func add(a mtl.Archive, l mtl.Library, function string, indirect, persistent bool) error {
	p, err := l.NewDescriptor(function, indirect, persistent)
	if err != nil {
		return err
	}
	defer p.Release()
	return a.Add(p)
}

// write puts an archive in place by renaming. What a process that was killed has left
// of it is removed.
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
	// ending is that of an archive's name.
	ending = ".metalarchive"
	// unfinished follows an archive's name in the name of the folder that it is written in.
	unfinished = ".new"
	// stale is the age at which nobody is still writing there.
	stale = time.Hour
)

// removeStale removes folders that archives were to be written in.
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
			_ = os.RemoveAll(filepath.Join(cache, e.Name())) // or the next time
		}
	}
}
