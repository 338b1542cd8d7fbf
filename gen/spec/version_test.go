package spec

import (
	"fmt"
	"strings"
	"testing"
)

// TestVersion checks that the latest version is read, and that the message about another version says only
// how to migrate.
func TestVersion(t *testing.T) {
	ok := readOK(t)
	for version, says := range map[string]string{
		"1":    "",
		"2":    "x.yaml:1:10: version is 2; this mlagen reads specs up to version 1: a newer mlagen wrote the file",
		"0":    "x.yaml:1:10: version is 0; expected an integer from 1 to 1048576",
		`"1"`:  `x.yaml:1:10: version is the string "1"; expected an integer`,
		"[1]":  "version is a list; expected an integer",
		"1.5":  "version is 1.5; expected an integer",
		"null": "version is empty; expected an integer",
	} {
		text := "version: " + version + "\n" + ok
		if says != "" {
			text += "nonsense: 1\n" // of which nothing is said
		}
		_, err := Parse("x.yaml", []byte(text))
		if got := fmt.Sprint(err); (says == "") != (err == nil) || !strings.Contains(got, says) || strings.Contains(got, "nonsense") {
			t.Errorf("version %s: %v; want %q", version, err, says)
		}
	}
}

// TestMigration checks that the message about a file of an older version lists all steps to the latest.
func TestMigration(t *testing.T) {
	changes = []string{"rename model.name to model.title", "drop rope.kind"}
	defer func() { changes = nil }()
	_, err := Parse("x.yaml", []byte("model: {name: x}\n"))
	want := "x.yaml:1:1: the file is of version 1 of the format; this mlagen reads version 3. Change it like this:\n" +
		"  from 1 to 2: rename model.name to model.title\n  from 2 to 3: drop rope.kind\nand set version: 3; mlagen init writes one anew from a GGUF file"
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	_, err = Parse("x.yaml", []byte("version: 2\nmodel: {name: x}\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:1:10: the file is of version 2") || strings.Contains(err.Error(), "from 1") || !strings.Contains(err.Error(), "from 2 to 3: drop rope.kind") {
		t.Errorf("%v", err)
	}
	if _, err = Parse("x.yaml", []byte("version: 3\n"+readOK(t))); err != nil {
		t.Error(err)
	}
}
