package bundlefile

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/system/atomicfile"
	"mla/runtime/system/userfile"
)

// manifest is the first entry.
type manifest struct {
	Version int            `json:"version"`
	Schema  string         `json:"schema"` // see planjson.Schema
	Entries []manifestItem `json:"entries"`
}

type manifestItem struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// entry is a file of the archive.
type entry struct {
	name string
	data []byte
}

func (e *entry) item() manifestItem {
	hash := sha256.Sum256(e.data)
	return manifestItem{e.name, int64(len(e.data)), hex.EncodeToString(hash[:])}
}

// Encode returns the bytes of a bundle file. It makes the checks of Decode, so that it never writes a file
// that cannot be read.
func Encode(f *File) ([]byte, error) {
	entries, err := f.entries()
	if err != nil {
		return nil, err
	}
	m := manifest{Version: Version, Schema: planjson.Schema()}
	for i := range entries {
		m.Entries = append(m.Entries, entries[i].item())
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	data, err := pack(append([]entry{{manifestEntry, append(text, '\n')}}, entries...))
	if err != nil {
		return nil, err
	}
	if _, err := Decode(data); err != nil {
		return nil, fmt.Errorf("the bundle file would not be readable: %w", err)
	}
	return data, nil
}

// entries lists all entries except the manifest, in order.
func (f *File) entries() ([]entry, error) {
	list, bundles := []entry{{specEntry, f.Spec}}, []*plan.Bundle{}
	sources := map[string]string{} // names of entries, by text
	var texts []entry
	for _, b := range f.Bundles {
		name, known := sources[b.Source]
		if !known {
			name = kernels.entry(b.Name)
			sources[b.Source] = name
			texts = append(texts, entry{name, []byte(b.Source)})
		}
		named := *b
		named.Source = name
		bundles = append(bundles, &named)
	}
	text, err := planjson.Marshal(bundles)
	if err != nil {
		return nil, err
	}
	list = append(append(list, entry{planEntry, text}), texts...)
	for _, files := range []struct {
		group
		data map[string][]byte
	}{{ptxs, f.PTX}, {libraries, f.Metal}} {
		for _, name := range slices.Sorted(maps.Keys(files.data)) {
			list = append(list, entry{files.entry(name), files.data[name]})
		}
	}
	return list, nil
}

// pack makes the archive. Equal entries give equal bytes.
func pack(entries []entry) ([]byte, error) {
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return file.Bytes(), nil
}

// Write writes the result of Encode to path atomically. It replaces only another bundle file.
func Write(path string, data []byte) error {
	switch ours, err := is(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !ours:
		return fmt.Errorf("%s is there and is no bundle file; give another name", path)
	}
	return atomicfile.Write(path, data)
}

// is says whether the file at path begins like a bundle file.
func is(path string) (bool, error) {
	f, err := userfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return begins(f), nil
}
