package gguf

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"mla/runtime/quant"
)

// Limits of the format, and bounds far above any real file's.
const (
	magic            = "GGUF"
	defaultAlignment = 32
	minAlignment     = 8 // so that float64 and narrower data is aligned in memory
	maxDims          = 4
	maxKeyLen        = 1<<16 - 1
	maxNameLen       = 64
	maxItems         = 1 << 20 // keys of one file, or tensors

	minKVSize     = 8 + 4 + 1     // empty key, type, one byte of value
	minTensorSize = 8 + 4 + 4 + 8 // empty name, n_dims = 0, type, offset
)

// parser fills a File from the bytes of one shard.
type parser struct {
	cursor
	f *File
}

func parse(s Shard) (*File, error) { return parseHead(s, uint64(len(s.Data))) }

// parseHead parses the beginning of a file with size bytes.
func parseHead(s Shard, size uint64) (*File, error) {
	p := parser{
		cursor: cursor{data: s.Data, size: size},
		f:      &File{Path: s.Path, Shards: []Shard{s}, keys: map[string]int{}, names: map[string]int{}},
	}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	return p.f, nil
}

func (p *parser) file() error {
	if err := p.version(); err != nil {
		return err
	}
	tensors, err := p.items("tensor count", minTensorSize)
	if err != nil {
		return err
	}
	keys, err := p.items("key count", minKVSize)
	if err != nil {
		return err
	}
	for i := range keys {
		if err := p.keyValue(i, keys); err != nil {
			return err
		}
	}
	if err := p.alignment(); err != nil {
		return err
	}
	for i := range tensors {
		if err := p.tensorInfo(i, tensors); err != nil {
			return err
		}
	}
	return p.layout()
}

func (p *parser) version() error {
	if what := notGGUF(p.data); what != "" {
		return fmt.Errorf("this is no GGUF file: %s", what)
	}
	m, err := p.take(4)
	if err != nil {
		return fmt.Errorf("magic: %w", err)
	}
	if string(m) != magic {
		return fmt.Errorf("magic is %q; expected %q: not a GGUF file", m, magic)
	}
	if p.f.Version, err = p.u32(); err != nil {
		return fmt.Errorf("version: %w", err)
	}
	switch v := p.f.Version; {
	case v == 2 || v == 3:
		return nil
	case bits.ReverseBytes32(v) <= 3:
		return fmt.Errorf("version is %d in big-endian order; only little-endian files are supported", bits.ReverseBytes32(v))
	default:
		return fmt.Errorf("version is %d; expected 2 or 3", v)
	}
}

func (p *parser) items(what string, size int) (int, error) {
	n, err := p.count(size)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if n > maxItems {
		return 0, fmt.Errorf("%s is %d; at most %d are supported", what, n, maxItems)
	}
	return n, nil
}

// name reads an identifying string of at most limit bytes. It must be ASCII, which the format requires of
// keys, without control characters.
func (p *parser) name(limit int) (string, error) {
	start := p.off
	n, err := p.u64()
	if err != nil {
		return "", err
	}
	if n > uint64(limit) {
		return "", fmt.Errorf("length %d at offset %d; at most %d is allowed", n, start, limit)
	}
	b, err := p.take(n)
	if at := bytes.IndexFunc(b, func(r rune) bool { return r < ' ' || r > '~' }); at >= 0 {
		return "", fmt.Errorf("byte %#02x at offset %d; expected ASCII that can be printed", b[at], p.off-len(b)+at)
	}
	return string(b), err
}

func (p *parser) keyValue(i, total int) error {
	key, err := p.name(maxKeyLen)
	if err != nil {
		return fmt.Errorf("name of key %d of %d: %w", i+1, total, err)
	}
	if _, dup := p.f.keys[key]; dup {
		return fmt.Errorf("key %.64q appears twice", key)
	}
	kind, err := p.kind()
	if err != nil {
		return fmt.Errorf("key %.64q: %w", key, err)
	}
	v, err := p.value(kind, 0)
	if err != nil {
		return fmt.Errorf("key %.64q: %w", key, err)
	}
	p.f.keys[key] = len(p.f.Meta)
	p.f.Meta = append(p.f.Meta, KV{key, v})
	return nil
}

const alignmentKey = "general.alignment"

func (p *parser) alignment() error {
	p.f.Alignment = defaultAlignment
	v, ok := p.f.Lookup(alignmentKey)
	if !ok {
		return nil
	}
	a, err := checkAlignment(v)
	if err != nil {
		return err
	}
	p.f.Alignment = a
	return nil
}

func checkAlignment(v Value) (uint64, error) {
	a, err := v.Uint()
	if err != nil {
		return 0, fmt.Errorf("key %q: %w", alignmentKey, err)
	}
	if a < minAlignment || a&(a-1) != 0 {
		return 0, fmt.Errorf("key %q is %d; expected a power of two of at least %d", alignmentKey, a, minAlignment)
	}
	return a, nil
}

// tensorInfo reads one tensor's description. Its Offset is relative to the data section until layout knows
// where that begins.
func (p *parser) tensorInfo(i, total int) error {
	name, err := p.name(maxNameLen)
	if err != nil {
		return fmt.Errorf("name of tensor %d of %d: %w", i+1, total, err)
	}
	if _, dup := p.f.names[name]; dup {
		return fmt.Errorf("tensor %q appears twice", name)
	}
	t := Tensor{Name: name}
	if err := p.shape(&t); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	p.f.names[name] = len(p.f.Tensors)
	p.f.Tensors = append(p.f.Tensors, t)
	return nil
}

func (p *parser) shape(t *Tensor) error {
	dims, err := p.u32()
	if err != nil {
		return fmt.Errorf("n_dims: %w", err)
	}
	if dims > maxDims {
		return fmt.Errorf("n_dims is %d; at most %d is allowed", dims, maxDims)
	}
	t.Dims = make([]uint64, dims)
	for i := range t.Dims {
		if t.Dims[i], err = p.u64(); err != nil {
			return fmt.Errorf("dimension %d: %w", i, err)
		}
	}
	id, err := p.u32()
	if err != nil {
		return fmt.Errorf("type: %w", err)
	}
	t.Type = quant.Type(id)
	if t.Offset, err = p.u64(); err != nil {
		return fmt.Errorf("offset: %w", err)
	}
	if t.Offset%p.f.Alignment != 0 {
		return fmt.Errorf("offset %d is not a multiple of the alignment %d", t.Offset, p.f.Alignment)
	}
	t.Size, err = dataSize(t.Type, t.Dims)
	return err
}

// dataSize returns the size of a tensor in bytes; 0 for an unknown type. The numbers of elements and of bytes
// must fit an int64.
func dataSize(typ quant.Type, dims []uint64) (uint64, error) {
	elems := uint64(1)
	for i, d := range dims {
		if d == 0 {
			return 0, fmt.Errorf("dimension %d is 0", i)
		}
		hi, lo := bits.Mul64(elems, d)
		if hi != 0 || lo > 1<<63-1 {
			return 0, fmt.Errorf("dimensions %d have too many elements", dims)
		}
		elems = lo
	}
	format, ok := quant.InFiles(typ)
	if !ok {
		return 0, nil
	}
	block := uint64(format.BlockElems)
	row := uint64(1)
	if len(dims) > 0 {
		row = dims[0]
	}
	if row%block != 0 {
		return 0, fmt.Errorf("dimension 0 is %d; type %s needs a multiple of %d", row, format.Name, block)
	}
	hi, size := bits.Mul64(elems/block, uint64(format.BlockBytes))
	if hi != 0 || size > 1<<63-1 {
		return 0, fmt.Errorf("dimensions %d of type %s take too many bytes", dims, format.Name)
	}
	return size, nil
}

// layout places all tensors in the file, and checks that they are inside it and do not overlap.
func (p *parser) layout() error {
	start, end := padded(uint64(p.off), p.f.Alignment), p.size
	order := make([]*Tensor, len(p.f.Tensors))
	for i := range order {
		order[i] = &p.f.Tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *Tensor) int { return cmp.Compare(a.Offset, b.Offset) })

	for _, t := range order {
		if start > end || t.Offset > end-start || t.Size > end-start-t.Offset {
			return fmt.Errorf("tensor %q: its %d bytes at offset %d of the data section, which starts at %d, pass the end of the file at %d; is it complete?",
				t.Name, t.Size, t.Offset, start, end)
		}
		t.Offset += start
	}
	for i, t := range order {
		limit := end
		if i+1 < len(order) {
			next := order[i+1]
			limit = next.Offset
			if t.Size > limit-t.Offset || limit == t.Offset {
				return fmt.Errorf("tensor %q: its %d bytes at offset %d overlap tensor %q at %d", t.Name, t.Size, t.Offset, next.Name, limit)
			}
		}
		if _, known := quant.InFiles(t.Type); !known {
			t.Size = limit - t.Offset
			continue
		}
		if t.Offset+t.Size <= uint64(len(p.data)) {
			t.Data = p.data[t.Offset : t.Offset+t.Size : t.Offset+t.Size]
		}
	}
	return nil
}

// padded rounds n up to a multiple of align; n is far from overflow.
func padded(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
