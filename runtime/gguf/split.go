package gguf

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Keys that llama.cpp's gguf-split writes to every shard.
const (
	splitNoKey      = "split.no" // numbered from 0
	splitCountKey   = "split.count"
	splitTensorsKey = "split.tensors.count" // of all shards together
)

// maxShards is the largest number with the five digits of a file name.
const maxShards = 99999

// part is the number of a shard and the count of shards.
type part struct{ no, count uint64 }

// splitPart reads a file's split keys; the zero part: the file is not split.
func (f *File) splitPart() (part, error) {
	count, ok, err := f.Uint(splitCountKey)
	if err != nil || !ok || count <= 1 {
		return part{}, err
	}
	if count > maxShards {
		return part{}, fmt.Errorf("%s: key %q is %d; at most %d is allowed", f.Path, splitCountKey, count, maxShards)
	}
	no, ok, err := f.Uint(splitNoKey)
	switch {
	case err != nil:
		return part{}, err
	case !ok:
		return part{}, fmt.Errorf("%s: key %q is missing, though %q is %d", f.Path, splitNoKey, splitCountKey, count)
	case no >= count:
		return part{}, fmt.Errorf("%s: key %q is %d; expected less than %q, which is %d", f.Path, splitNoKey, no, splitCountKey, count)
	}
	return part{no, count}, nil
}

var shardName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// Stem is the path of a model file without its extension and without the number of a shard. Names of files
// that belong to the model begin with it.
func Stem(path string) string {
	if m := shardName.FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return strings.TrimSuffix(path, ".gguf")
}

func shardPath(prefix string, p part) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, p.no+1, p.count)
}

// shardPrefix is the common beginning of the names of all shards next to path.
func shardPrefix(path string, p part) (string, error) {
	m := shardName.FindStringSubmatch(path)
	if m == nil || shardPath(m[1], p) != path {
		return "", fmt.Errorf("%s: the file is shard %d of %d, so its name should end in %q, like those of the others",
			path, p.no+1, p.count, shardPath("", p))
	}
	return m[1], nil
}

// openSplit opens the other shards of a split model and merges all into a File with the given one's path. If
// it fails, it closes the given one.
func openSplit(given *File, p part) (whole *File, err error) {
	shards := make([]*File, 0, 16)
	defer func() {
		if err != nil {
			for _, s := range append(shards, given) {
				err = errors.Join(err, s.Close())
			}
		}
	}()
	prefix, err := shardPrefix(given.Path, p)
	if err != nil {
		return nil, err
	}
	for no := range p.count {
		s, err := openSibling(given, p, prefix, no)
		if err != nil {
			return nil, fmt.Errorf("shard %d of %d: %w", no+1, p.count, err)
		}
		shards = append(shards, s)
	}
	return merge(given.Path, shards)
}

func openSibling(given *File, p part, prefix string, no uint64) (*File, error) {
	if no == p.no {
		return given, nil
	}
	want := part{no, p.count}
	s, err := openShard(shardPath(prefix, want))
	if err != nil {
		return nil, err
	}
	found, err := s.splitPart()
	if err == nil && found != want {
		err = fmt.Errorf("%s: keys %q and %q are %d and %d; expected %d and %d",
			s.Path, splitNoKey, splitCountKey, found.no, found.count, want.no, want.count)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// merge makes one File of all shards, in order. The metadata is the first one's, as the others have only
// split keys.
func merge(path string, shards []*File) (*File, error) {
	whole := *shards[0]
	whole.Path = path
	whole.Shards = nil
	whole.Tensors = nil
	whole.names = map[string]int{}
	for no, s := range shards {
		whole.Shards = append(whole.Shards, s.Shards[0])
		for _, t := range s.Tensors {
			if i, dup := whole.names[t.Name]; dup {
				return nil, fmt.Errorf("tensor %q is in both %s and %s",
					t.Name, shards[whole.Tensors[i].Shard].Path, s.Path)
			}
			t.Shard = no
			whole.names[t.Name] = len(whole.Tensors)
			whole.Tensors = append(whole.Tensors, t)
		}
	}
	want, ok, err := whole.Uint(splitTensorsKey)
	if err == nil {
		err = oneModel(shards)
	}
	if err == nil && ok && want != uint64(len(whole.Tensors)) {
		err = fmt.Errorf("%s: key %q is %s, but the shards have %d tensors",
			shards[0].Path, splitTensorsKey, strconv.FormatUint(want, 10), len(whole.Tensors))
	}
	if err != nil {
		return nil, err
	}
	return &whole, nil
}
