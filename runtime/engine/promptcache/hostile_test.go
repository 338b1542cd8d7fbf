package promptcache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"mla/runtime/system/recordfile"
)

// forged returns the path of a file with a right checksum, a header of about the given number of bytes, and
// some records.
func forged(t *testing.T, header, records, record int) string {
	t.Helper()
	const begin, end = `{"tokens":[1`, `]}`
	text := append([]byte(begin), bytes.Repeat([]byte(",1"), (header-len(begin)-len(end))/2)...)
	text = append(text, end...)
	file := binary.LittleEndian.AppendUint32(append([]byte{}, kind.Magic[:]...), kind.Version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(text)))
	file = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(file, uint64(records)), uint64(record))
	file = append(file, text...)
	file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(file, crc32.MakeTable(crc32.Castagnoli)))
	file = append(file, make([]byte, records*(record+4))...)
	path := filepath.Join(t.TempDir(), "forged.mlaprompt")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestForged checks that a file with a long list of tokens and no content for them is refused before the list
// is read.
func TestForged(t *testing.T) {
	for name, path := range map[string]string{
		"no records":           forged(t, 1<<27, 0, key.PageBytes()),
		"no records of none":   forged(t, 1<<26, 0, 0),
		"many empty records":   forged(t, 1<<26, 1<<20, 0),
		"many records of one":  forged(t, 1<<26, 1<<20, 1),
		"one record, too long": forged(t, 1<<26, 1, key.PageBytes()),
	} {
		before := allocated()
		_, err := Open(path, key)
		var damaged *recordfile.DamagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "a header of") {
			t.Errorf("%s: %v", name, err)
		}
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

// allocated returns the number of bytes that this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestPipe checks that a pipe is refused as a prompt cache, and that nothing waits for it.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var other *recordfile.NotOursError
	if _, err := Open(path, key); !errors.As(err, &other) {
		t.Errorf("opened: %v", err)
	}
	if err := Check(path); !errors.As(err, &other) {
		t.Errorf("replaced: %v", err)
	}
}
