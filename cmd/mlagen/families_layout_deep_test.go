//go:build deep

package main

import (
	"strings"
	"testing"
)

// TestLayouts compares files of all layouts with what they mean.
func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		for _, profile := range []string{"q4_k_m", "f16 legacy_kv_b"} {
			if strings.Contains(profile, "legacy") && notLegacy[l.name] {
				continue
			}
			t.Run(l.name+" "+profile, func(t *testing.T) {
				s := l.model(t)
				m := loadModel(t, synthFile(t, s, profile, 5))
				l.change(m, s)
				compareFile(t, m.write(t), s)
			})
		}
	}
}
