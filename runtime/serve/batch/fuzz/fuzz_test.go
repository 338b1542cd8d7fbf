// Package fuzz has the fuzz target of batches. It lies apart from their other tests, which
// need a broker: all that a target is linked with is instrumented.
package fuzz

import (
	"strings"
	"testing"

	"mla/runtime/serve/batch"
)

func FuzzRead(f *testing.F) {
	f.Add(`{"custom_id": "a", "method": "POST", "url": "/v1/x", "body": {}}` + "\n\n" + `{"custom_id": "b", "method": "POST", "url": "/v1/x", "body": {"n": [1]}}`)
	f.Add("{}\n[]\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if file, err := batch.Read(strings.NewReader(text)); (file == nil) == (err == nil) {
			t.Errorf("%v, %v", file, err)
		}
	})
}
