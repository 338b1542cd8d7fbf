package schema

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/google/jsonschema-go/jsonschema" // whose module has the official test suite
)

// suite is where the official test suite is.
func suite(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatalf("the module with the JSON Schema test suite: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", "draft2020-12")
}

// TestSuite is the official JSON Schema test suite, draft 2020-12: of every schema that is
// supported, no text is accepted that is not valid, and most of the others are.
func TestSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(suite(t), "*.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files of the suite, %v", len(files), err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	schemas, supported, accepted, all, invalid, written := 0, 0, 0, 0, 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			schemas++
			c, err := compiled(string(group.Schema), Options{})
			var known *UnsupportedError
			switch {
			case errors.As(err, &known):
				if !strings.Contains(string(group.Schema), `"`+known.Keyword+`"`) {
					t.Errorf("%s: %v: the schema has no such keyword", group.Description, err)
				}
				continue
			case err != nil: // nothing is valid, or it begins with itself
				continue
			}
			supported++
			for _, test := range group.Tests {
				v, err := decode(test.Data)
				if err != nil {
					t.Fatal(err)
				}
				got := accepts(c, encode(v))
				if test.Valid {
					if all++; got {
						accepted++
					}
					continue
				}
				if invalid++; got {
					t.Errorf("%s, %s (%s): accepts %s, which is not valid by %s", filepath.Base(file), group.Description, test.Description, test.Data, group.Schema)
				}
			}
			if strings.Contains(string(group.Schema), `"$id"`) {
				continue // the validator would look for what it refers to
			}
			s := validator(t, string(group.Schema))
			for range 3 {
				text, ended, err := write(rng, c, 200)
				if err != nil {
					t.Fatalf("%s: %v", group.Schema, err)
				}
				if !ended {
					continue
				}
				written++
				if err := valid(t, s, text); err != nil {
					t.Errorf("%s allows %s: %v", group.Schema, text, err)
				}
			}
		}
	}
	t.Logf("%d of %d schemas are supported; %d of %d valid texts are accepted, none of %d others; %d texts were written", supported, schemas, accepted, all, invalid, written)
	if supported < 300 || 5*accepted < 4*all || written < 600 {
		t.Error("too little is supported")
	}
}
