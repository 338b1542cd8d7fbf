//go:build linux && deep

package neon

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestWords has clang assemble the text beside every word of the generated file: its words must be the same. It covers
// every instruction of the table, with the operands that the loops have.
func TestWords(t *testing.T) {
	assembly, _ := Generate()
	words := map[string]uint32{}
	for _, m := range regexp.MustCompile(`WORD \$0x([0-9a-f]{8}) // (.*)`).FindAllSubmatch(assembly, -1) {
		word, err := strconv.ParseUint(string(m[1]), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		words[string(m[2])] = uint32(word)
	}
	var lines []string
	for line := range words {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	var source bytes.Buffer
	source.WriteString(".arch armv8.6-a\n")
	for _, line := range lines {
		source.WriteString(line + "\n")
	}
	object := filepath.Join(t.TempDir(), "words.o")
	clang := exec.Command("clang-19", "--target=aarch64-linux-gnu", "-x", "assembler", "-c", "-o", object, "-")
	clang.Stdin = &source
	if out, err := clang.CombinedOutput(); err != nil {
		t.Fatalf("%v; scripts/tools.sh installs clang\n%s", err, out)
	}
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := file.Section(".text").Data()
	if err != nil || len(text) != 4*len(lines) {
		t.Fatalf("%d bytes of %d instructions: %v", len(text), len(lines), err)
	}
	for i, line := range lines {
		if want := binary.LittleEndian.Uint32(text[4*i:]); words[line] != want {
			t.Errorf("%s is %#08x, want %#08x", line, words[line], want)
		}
	}
}
