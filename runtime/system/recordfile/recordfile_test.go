package recordfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var kind = Kind{Magic: [8]byte([]byte("MLATEST\n")), Version: 3, Name: "a test file"}

type header struct {
	Text string `json:"text"`
}

const recordBytes = 5

func record(i int) []byte { return fmt.Appendf(nil, "%05d", i*i) }

// write makes a file of n records.
func write(t testing.TB, path string, n int) {
	t.Helper()
	w, err := Create(path, kind, header{"hello"}, n, recordBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i := range n {
		if err := w.Write(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

// written is the bytes of such a file.
func written(t testing.TB, n int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, n)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// check reads all of a file and compares it with what was written.
func check(f *File, n int) error {
	if f.Records() != n || f.RecordBytes() != recordBytes {
		return fmt.Errorf("%d records of %d bytes", f.Records(), f.RecordBytes())
	}
	next := 0
	err := f.Each(context.Background(), 0, n, func(i int, got []byte) error {
		if i != next || !bytes.Equal(got, record(i)) {
			return fmt.Errorf("record %d, the %dth: %q", i, next, got)
		}
		next++
		return nil
	})
	if err == nil && next != n {
		err = fmt.Errorf("%d records", next)
	}
	return err
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, n := range []int{0, 1, 2, 3, 100} {
		write(t, path, n)
		var h header
		f, err := Open(path, kind, &h)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(check(f, n), f.Close()); err != nil || h.Text != "hello" || f.Path() != path {
			t.Errorf("%d records: %+v, %v", n, h, err)
		}
		for _, i := range []int{-1, n} {
			if _, err := f.Read(i, f.Buffer()); err == nil {
				t.Errorf("record %d of %d: no error", i, n)
			}
		}
	}
}

// opened is what reading a file to its end says.
func opened(data []byte, n int) error {
	f, err := parse(bytes.NewReader(data), int64(len(data)), "F", kind, &header{})
	if err != nil {
		return err
	}
	return check(f, n)
}

// TestDamage checks that a file which is cut off at any byte, has a changed byte or is too long is refused,
// and so is a record in another's place.
func TestDamage(t *testing.T) {
	good := written(t, 4)
	if err := opened(good, 4); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		var damaged *DamagedError
		var foreign *NotOursError
		if err := opened(data, 4); !errors.As(err, &damaged) && !errors.As(err, &foreign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range good {
		refused(fmt.Sprintf("%d bytes of %d", n, len(good)), good[:n])
		bad := slices.Clone(good)
		bad[n] ^= 0x10
		refused(fmt.Sprintf("byte %d changed", n), bad)
	}
	refused("a byte too many", append(slices.Clone(good), 0))
	swapped := slices.Clone(good)
	one := len(good) - 2*(recordBytes+sumBytes)
	copy(swapped[one:], good[one+recordBytes+sumBytes:])
	copy(swapped[one+recordBytes+sumBytes:], good[one:][:recordBytes+sumBytes])
	refused("two records in each other's place", swapped)
	foreign := slices.Clone(good)
	foreign[fixedBytes+10] = 'H' // of the text
	end := len(foreign) - 4*(recordBytes+sumBytes) - sumBytes
	binary.LittleEndian.PutUint32(foreign[end:], crc32.Checksum(foreign[:end], castagnoli))
	refused("records after another header", foreign)
}

// TestReasons checks the reasons in errors.
func TestReasons(t *testing.T) {
	good := written(t, 2)
	put := func(at int, v uint64) []byte {
		bad := slices.Clone(good)
		binary.LittleEndian.PutUint64(bad[at:], v)
		return bad
	}
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{nil, "cut off after 0 bytes"},
		{[]byte("GGUF...."), "F is not a test file; it is left as it is"},
		{put(8, 4|16<<32), "of version 4; this program reads version 3"},
		{put(8, 3|uint64(maxHeader+1)<<32), "a header of"},
		{put(16, 1<<63), "cut off"},
		{put(16, 1<<60), "cut off"},
		{put(24, maxRecord+1), "records of"},
		{put(24, 6), "cut off"},
		{put(16, 1), "9 bytes follow its end"},
		{put(32, 0), "the checksum of its header is wrong"},
	} {
		if err := opened(tt.data, 2); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}

// TestOthersStay checks that a file of another kind is neither read nor replaced.
func TestOthersStay(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	var foreign *NotOursError
	for _, text := range []string{"x", "MLATEST ", "a longer file of someone else"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, created := Create(path, kind, header{}, 1, 1)
		_, opened := Open(path, kind, &header{})
		if data, err := os.ReadFile(path); !errors.As(created, &foreign) || !errors.As(opened, &foreign) || string(data) != text || err != nil {
			t.Errorf("%q: %v, %v, then %q", text, created, opened, data)
		}
	}
	if _, err := Open(folder, kind, &header{}); err == nil {
		t.Error("a folder: no error")
	}
	if _, err := Open(filepath.Join(folder, "none"), kind, &header{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, text := range []string{"", "MLATEST", "MLATEST\nand then nothing of sense"} { // ours, whatever became of it
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if write(t, path, 1); opened(must(os.ReadFile(path)), 1) != nil {
			t.Errorf("%q was not replaced", text)
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// TestIncomplete checks that a writer which does not finish leaves the old file.
func TestIncomplete(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	write(t, path, 2)
	before := must(os.ReadFile(path))
	w, err := Create(path, kind, header{}, 2, recordBytes)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Write(record(0)[1:]); err == nil {
			t.Error("a short record: no error")
		}
	}
	if err := errors.Join(w.Write(record(7)), w.Write(record(8))); err != nil {
		t.Fatal(err)
	}
	if w.Write(record(9)) == nil {
		t.Error("a record too many: no error")
	}
	w.Abort()
	if w, err = Create(path, kind, header{}, 2, recordBytes); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(record(1))); err != nil || w.Commit() == nil {
		t.Errorf("one record of two: committed, %v", err)
	}
	if list, err := os.ReadDir(folder); err != nil || len(list) != 1 || !bytes.Equal(must(os.ReadFile(path)), before) {
		t.Errorf("%v are left, %v", list, err)
	}
	for _, n := range [][2]int{{-1, 1}, {1, -1}, {1, maxRecord + 1}} {
		if _, err := Create(path, kind, header{}, n[0], n[1]); err == nil {
			t.Errorf("%d records of %d bytes: no error", n[0], n[1])
		}
	}
	if _, err := Create(path, kind, func() {}, 1, 1); err == nil {
		t.Error("a header that is no JSON: no error")
	}
}

// TestEach checks that the visitor's error and a cancelled context end the visits, and that nothing is read
// afterwards.
func TestEach(t *testing.T) {
	data := written(t, 50)
	f, err := parse(bytes.NewReader(data), int64(len(data)), "F", kind, &header{})
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("enough")
	ctx, cancel := context.WithCancel(context.Background())
	for _, tt := range []struct {
		want error
		stop func() error
	}{{failed, func() error { return failed }}, {context.Canceled, func() error { cancel(); return nil }}} {
		visits := 0
		err := f.Each(ctx, 10, 50, func(i int, _ []byte) error {
			if visits++; i == 12 {
				return tt.stop()
			}
			return nil
		})
		if !errors.Is(err, tt.want) || visits != 3 {
			t.Errorf("%v after %d visits; want %v", err, visits, tt.want)
		}
	}
	if err := f.Each(context.Background(), 7, 7, nil); err != nil {
		t.Errorf("no records: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		f.Add(written(f, n))
	}
	f.Add(append([]byte("MLATEST\n"), make([]byte, 40)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parse(bytes.NewReader(data), int64(len(data)), "F", kind, &header{})
		if err != nil {
			return
		}
		if n := file.Records(); int64(n)*int64(file.RecordBytes()+sumBytes) > int64(len(data)) {
			t.Fatalf("%d records of %d bytes in %d bytes", n, file.RecordBytes(), len(data))
		}
		for i := range file.Records() {
			if got, err := file.Read(i, file.Buffer()); err == nil && len(got) != file.RecordBytes() {
				t.Fatalf("record %d has %d bytes", i, len(got))
			}
		}
	})
}
