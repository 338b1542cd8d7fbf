package recordfile

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// killVariable names the file that this test binary writes for ever when it is set.
const killVariable = "RECORDFILE_TEST_WRITES"

func TestMain(m *testing.M) {
	path, ok := os.LookupEnv(killVariable)
	if !ok {
		os.Exit(m.Run())
	}
	w, err := Create(path, kind, header{"new"}, 1<<40, recordBytes)
	for i := 0; err == nil; i++ {
		if err = w.Write(record(1)); i%1000 == 0 {
			fmt.Println(i)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestKilledWriter checks that a process which is killed while it writes leaves the old file.
func TestKilledWriter(t *testing.T) {
	for _, old := range []bool{false, true} {
		folder := t.TempDir()
		path := filepath.Join(folder, "file")
		if old {
			write(t, path, 3)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killVariable+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		for range 5 { // it has written some thousand records
			if line, err := lines.ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		data, err := os.ReadFile(path)
		if old && (err != nil || opened(data, 3) != nil) {
			t.Errorf("the old file: %v, %v", err, opened(data, 3))
		}
		if !old && !os.IsNotExist(err) {
			t.Errorf("a file of %d bytes, %v", len(data), err)
		}
		// What it left under another name is no file of this kind either.
		rest, err := filepath.Glob(filepath.Join(folder, ".file.*"))
		if err != nil || len(rest) != 1 {
			t.Fatal(rest, err)
		}
		half := must(os.ReadFile(rest[0]))
		if _, err := parse(bytes.NewReader(half), int64(len(half)), "F", kind, &header{}); err == nil {
			t.Errorf("half a file of %d bytes is read", len(half))
		}
	}
}
