package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// killVariable names the file that this test binary writes for ever when it is set.
const killVariable = "ATOMICFILE_TEST_WRITES"

func TestMain(m *testing.M) {
	path, ok := os.LookupEnv(killVariable)
	if !ok {
		os.Exit(m.Run())
	}
	fmt.Println("begins")
	for i := 0; ; i++ {
		if err := Write(path, version(i)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// version is the content of a file's i-th version: its number and length, and a text
// that follows from both.
func version(i int) []byte {
	n := 1 + i*7919%200_000
	return append(fmt.Appendf(nil, "%d %d\n", i, n), bytes.Repeat([]byte{byte('a' + i%26)}, n)...)
}

// whole fails unless the content is a version.
func whole(data []byte) error {
	first, _, _ := bytes.Cut(data, []byte(" "))
	i, err := strconv.Atoi(string(first))
	if err == nil && !bytes.Equal(data, version(i)) {
		err = fmt.Errorf("%d bytes of version %d, which has %d", len(data), i, len(version(i)))
	}
	return err
}

// TestKilledWriters checks that a file is one of its versions after a writer is killed at any time, and that
// the next write removes the remains.
func TestKilledWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var seen int
	for range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killVariable+"="+path)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(40 * time.Millisecond))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if seen++; err != nil || whole(data) != nil {
			t.Fatal(err, whole(data))
		}
	}
	if seen == 0 {
		t.Error("no writer has come to its end")
	}
	if err := Write(path, version(0)); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want one file: the next writer removes what is left", entries, err)
	}
}
