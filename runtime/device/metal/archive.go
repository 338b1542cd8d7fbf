package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"

	"mla/runtime/device/metal/mtl"
	"mla/runtime/plan"
)

// archive keeps what the GPU's compiler makes of a bundle in a file. It is only
// faster: whatever goes wrong with it, pipelines are made without. A nil archive
// does nothing.
type archive struct {
	path   string
	stored mtl.Archive // read from path; nil if there is none
	fresh  mtl.Archive // to be written to path; nil if stored is there

	mu      sync.Mutex
	damaged bool // fresh misses a pipeline
}

// openArchive opens the archive of a bundle for this GPU and system.
func (d *Device) openArchive(gpu mtl.Device, b *plan.Bundle) *archive {
	if d.options.Cache == "" {
		return nil
	}
	system := sha256.Sum256([]byte(d.Info.Name + "\x00" + d.OS))
	a := &archive{path: filepath.Join(d.options.Cache, stem(b)+"-"+hex.EncodeToString(system[:4])+".metalarchive")}
	if _, err := os.Stat(a.path); err == nil {
		if a.stored, err = gpu.NewArchive(a.path); err == nil {
			return a
		}
	}
	var err error
	if a.fresh, err = gpu.NewArchive(""); err != nil {
		return nil
	}
	return a
}

// use lets a pipeline be made from the stored archive.
func (a *archive) use(p mtl.PipelineDescriptor) {
	if a != nil && !a.stored.Nil() {
		p.UseArchive(a.stored)
	}
}

// add keeps a pipeline in the new archive.
func (a *archive) add(p mtl.PipelineDescriptor) {
	if a == nil || a.fresh.Nil() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fresh.Add(p) != nil {
		a.damaged = true
	}
}

// close writes a complete new archive and releases everything.
func (a *archive) close(complete bool) {
	if a == nil {
		return
	}
	if complete && !a.fresh.Nil() && !a.damaged {
		a.write()
	}
	a.stored.Release()
	a.fresh.Release()
}

// write puts the archive in place by renaming.
func (a *archive) write() {
	folder := filepath.Dir(a.path)
	if os.MkdirAll(folder, 0o755) != nil {
		return
	}
	temp, err := os.MkdirTemp(folder, "new")
	if err != nil {
		return
	}
	defer os.RemoveAll(temp)
	if file := filepath.Join(temp, "archive"); a.fresh.Write(file) == nil {
		_ = os.Rename(file, a.path)
	}
}
