package sources

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Overlay writes the changed file into folder, with the JSON file that go build -overlay takes, and returns
// the path of the JSON file.
func (m *Mutation) Overlay(root, folder string) (string, error) {
	changed := filepath.Join(folder, filepath.Base(m.File))
	if err := os.WriteFile(changed, m.Text, 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.File): changed}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
