package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kept is a model in the cache.
type Kept struct {
	Ref   Ref    // with the path of its first file as Quant
	Path  string // of its first file
	Bytes int64  // of all its files
	When  time.Time
}

// mostRepos is the most repositories of a cache that are examined.
const mostRepos = 10_000

// Kept lists the complete models in the cache by name, in the newest commit with the model. A cache that does
// not exist has none.
func (c *Client) Kept() (list []Kept, err error) {
	dirs, err := filepath.Glob(filepath.Join(escaped(c.Cache), "models--*--*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs[:min(len(dirs), mostRepos)] {
		parts := strings.SplitN(filepath.Base(dir), "--", 3)
		ref := Ref{User: parts[1], Repo: parts[2]}
		if !validPart(ref.User) || !validPart(ref.Repo) {
			continue
		}
		r := c.repo(ref)
		commits, err := r.commits()
		if err != nil {
			return nil, err
		}
		found, err := r.kept(ref, commits)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// escaped is a glob pattern that matches only the path.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// commits lists the snapshots of a repository.
func (r repo) commits() (list []string, err error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, "snapshots"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() && commitID.MatchString(e.Name()) {
			list = append(list, e.Name())
		}
	}
	return list, err
}

// kept lists the models of a repository over all given commits.
func (r repo) kept(ref Ref, commits []string) (list []Kept, err error) {
	newest := map[string]Kept{}
	for _, commit := range commits {
		files, err := r.files(commit)
		if err != nil {
			return nil, err
		}
		for _, m := range models(files) {
			if m.whole() != nil {
				continue
			}
			k := Kept{Ref: ref, Path: r.path(commit, m.files[0].path)}
			k.Ref.Quant = m.files[0].path
			for _, f := range m.files {
				k.Bytes += f.size
			}
			if info, err := os.Stat(k.Path); err == nil {
				k.When = info.ModTime()
			}
			if old, ok := newest[k.Ref.Quant]; !ok || k.When.After(old.When) {
				newest[k.Ref.Quant] = k
			}
		}
	}
	for _, k := range newest {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Kept) int { return strings.Compare(a.Ref.Quant, b.Ref.Quant) })
	return list, nil
}

// Remove removes a model from the cache: its links in all commits, and the contents without other links. It
// returns the number of bytes freed. A reference without a quantisation names the only model that the cache
// has of the repository.
func (c *Client) Remove(ctx context.Context, ref Ref) (freed int64, err error) {
	r := c.repo(ref)
	commits, err := r.commits()
	if err != nil {
		return 0, err
	}
	m, err := r.named(ref, commits)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", ref, err)
	}
	contents := map[string]bool{}
	for _, f := range m.files {
		for _, commit := range commits {
			path := r.path(commit, f.path)
			to, err := os.Readlink(path)
			if err != nil {
				continue // a commit without the file, or a file that is not a link
			}
			if err := os.Remove(path); err != nil {
				return freed, err
			}
			if etag := filepath.Base(to); etagID.MatchString(etag) {
				contents[etag] = true
			}
		}
	}
	used, err := r.used(commits)
	if err != nil {
		return freed, err
	}
	for etag := range contents {
		if used[etag] {
			continue
		}
		n, err := r.removeContent(ctx, etag, c.note)
		if freed += n; err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// named is the model in the cache that a reference names.
func (r repo) named(ref Ref, commits []string) (*model, error) {
	found, err := r.kept(ref, commits)
	if err != nil {
		return nil, err
	}
	switch {
	case len(found) == 0:
		return nil, errors.New("the cache has no model of this repository; mlarun list says what it has")
	case ref.Quant == "" && len(found) > 1:
		return nil, fmt.Errorf("the cache has %d models of this repository; name one of them: %s", len(found), keptNames(found))
	case ref.Quant == "":
		ref.Quant = found[0].Ref.Quant
	}
	for _, commit := range commits {
		files, err := r.files(commit)
		if err != nil {
			return nil, err
		}
		if m, err := choose(files, ref.Quant); err == nil {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the cache has no such model of this repository; it has %s", keptNames(found))
}

func keptNames(list []Kept) string {
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Ref.Quant
	}
	return strings.Join(names, ", ")
}

// used is the contents with a link in some commit, whatever kind of file it is.
func (r repo) used(commits []string) (map[string]bool, error) {
	used := map[string]bool{}
	for _, commit := range commits {
		err := filepath.WalkDir(r.snapshot(commit), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if to, err := os.Readlink(path); err == nil {
				used[filepath.Base(to)] = true
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return used, nil
}

// removeContent removes a content, unless another program is downloading it.
func (r repo) removeContent(ctx context.Context, etag string, note func(string, ...any)) (freed int64, err error) {
	if err := os.MkdirAll(r.locks, 0o755); err != nil {
		return 0, err
	}
	unlock, err := r.lock(ctx, etag, note)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	info, err := os.Lstat(r.blob(etag))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file, so it stays", r.blob(etag))
	}
	return info.Size(), os.Remove(r.blob(etag))
}
