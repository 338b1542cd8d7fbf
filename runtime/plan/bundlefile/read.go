package bundlefile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/plan/verify"
	"mla/runtime/system/userfile"
)

// ErrVersion says that a file was made by another version of mlagen.
var ErrVersion = errors.New("made by another version of mlagen, for another version of this program")

// Open reads a bundle file.
func Open(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; make it again: mlagen -gguf MODEL.gguf -o %s", path, err, path)
	}
	f.Path = path
	return f, nil
}

// readFile reads a regular file of limited size.
func readFile(path string) ([]byte, error) {
	f, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes; a bundle file has at most %d", path, info.Size(), maxFile)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// begins says whether a reader begins like a bundle file: an archive whose first entry is the manifest.
func begins(r io.Reader) bool {
	const header = 30 // bytes of an entry's header before its name
	head := make([]byte, header+len(manifestEntry))
	_, err := io.ReadFull(r, head)
	return err == nil && bytes.HasPrefix(head, []byte("PK\x03\x04")) && string(head[header:]) == manifestEntry
}

// Decode parses the bytes of a bundle file, and verifies its bundles.
func Decode(data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%d bytes; a bundle file has at most %d", len(data), maxFile)
	}
	if !begins(bytes.NewReader(data)) {
		return nil, errors.New("no bundle file")
	}
	entries, err := unpack(data)
	if err != nil {
		return nil, err
	}
	return assemble(entries)
}

// unpack returns the entries after the manifest. They must be exactly those that the manifest lists.
func unpack(data []byte) ([]entry, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("damaged or cut off: %w", err)
	}
	if n := len(z.File); n < 1 || n > maxEntries || z.File[0].Name != manifestEntry {
		return nil, fmt.Errorf("an archive of %d entries; expected 1 to %d, the first %s", n, maxEntries, manifestEntry)
	}
	left := int64(maxFile)
	text, err := content(z.File[0], &left)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(text)
	if err != nil {
		return nil, err
	}
	if len(m.Entries) != len(z.File)-1 {
		return nil, fmt.Errorf("%d entries; %s lists %d", len(z.File)-1, manifestEntry, len(m.Entries))
	}
	var entries []entry
	for i, file := range z.File[1:] {
		e := entry{name: file.Name}
		if e.data, err = content(file, &left); err != nil {
			return nil, err
		}
		if e.item() != m.Entries[i] {
			return nil, fmt.Errorf("entry %.64q is not what %s says of entry %d: damaged", e.name, manifestEntry, i)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// readManifest reads the first entry. Of a manifest of another version it reads only the version, because the
// rest may have another form.
func readManifest(text []byte) (*manifest, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestEntry, err)
	}
	if head.Version != Version {
		return nil, fmt.Errorf("%w (format %d, not %d)", ErrVersion, head.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	m := &manifest{}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestEntry, err)
	}
	if m.Schema != planjson.Schema() {
		return nil, fmt.Errorf("%w (its tables have another form)", ErrVersion)
	}
	return m, nil
}

// content unpacks an entry of at most left bytes, and subtracts its size from left.
func content(file *zip.File, left *int64) ([]byte, error) {
	size := file.UncompressedSize64
	if most := mostBytes(file.Name); most == 0 {
		return nil, fmt.Errorf("entry %.64q is not known", file.Name)
	} else if size > most {
		return nil, fmt.Errorf("entry %.64q: %d bytes; expected at most %d", file.Name, size, most)
	}
	if size > uint64(*left) {
		return nil, fmt.Errorf("entry %.64q: %d bytes; the whole file has at most %d", file.Name, size, maxFile)
	}
	*left -= int64(size)
	r, err := file.Open()
	if err != nil {
		return nil, fmt.Errorf("entry %.64q: %w", file.Name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, int64(size)+1)) // allocates as data arrives, whatever size says
	if err != nil {
		return nil, fmt.Errorf("entry %.64q: damaged: %w", file.Name, err)
	}
	return data, nil
}

// assemble makes a File of the entries.
func assemble(entries []entry) (*File, error) {
	f := &File{PTX: map[string][]byte{}, Metal: map[string][]byte{}}
	sources := map[string]string{}
	if len(entries) < 2 || entries[0].name != specEntry || entries[1].name != planEntry {
		return nil, fmt.Errorf("expected the entries %s and %s first", specEntry, planEntry)
	}
	f.Spec = entries[0].data
	for _, e := range entries[2:] {
		var taken bool
		if _, ok := kernels.bundle(e.name); ok {
			_, taken = sources[e.name]
			sources[e.name] = string(e.data)
		} else if name, ok := ptxs.bundle(e.name); ok {
			_, taken = f.PTX[name]
			f.PTX[name] = e.data
		} else if name, ok := libraries.bundle(e.name); ok {
			_, taken = f.Metal[name]
			f.Metal[name] = e.data
		} else {
			return nil, fmt.Errorf("entry %.64q is not known", e.name)
		}
		if taken {
			return nil, fmt.Errorf("entry %.64q is there twice", e.name)
		}
	}
	bundles, err := planjson.Unmarshal(entries[1].data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", planEntry, err)
	}
	f.Bundles = bundles
	return f, f.check(sources)
}

// check sets the bundles' sources. It fails unless the bundles are of one spec, all sources are used, and
// package verify accepts the bundles.
func (f *File) check(sources map[string]string) error {
	if n := len(f.Bundles); n < 1 || n > maxBundles {
		return fmt.Errorf("%d bundles; expected 1 to %d", n, maxBundles)
	}
	hash := sha256.Sum256(f.Spec)
	names, used := []string{}, map[string]bool{}
	for _, b := range f.Bundles {
		source, ok := sources[b.Source]
		switch {
		case !ok:
			return fmt.Errorf("bundle %.64q: there is no entry %.64q", b.Name, b.Source)
		case b.SourceHash != "":
			return fmt.Errorf("bundle %.64q has a hash in place of its source", b.Name)
		case slices.Contains(names, b.Name):
			return fmt.Errorf("two bundles are named %.64q", b.Name)
		case b.SpecHash != hex.EncodeToString(hash[:]):
			return fmt.Errorf("bundle %.64q is not of %s", b.Name, specEntry)
		}
		used[b.Source] = true
		b.Source = source
		names = append(names, b.Name)
		if err := verify.Bundle(b); err != nil {
			return err
		}
	}
	if len(used) != len(sources) {
		return errors.New("an entry with kernels of no bundle")
	}
	for _, files := range []map[string][]byte{f.PTX, f.Metal} {
		for name := range files {
			if !slices.Contains(names, name) {
				return fmt.Errorf("an entry for %.64q, which is no bundle of the file", name)
			}
		}
	}
	return nil
}

// Of is the bundle with a name; nil: there is none.
func (f *File) Of(name string) *plan.Bundle {
	i := slices.IndexFunc(f.Bundles, func(b *plan.Bundle) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return f.Bundles[i]
}
