package generated

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/runtime/plan"
)

// TestPTXRefuses: kernels of another bundle or another version are not handed out.
func TestPTXRefuses(t *testing.T) {
	all := Bundles()
	kept := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "yoututiny" })
	if err := HasPTX(all[kept]); err != nil {
		t.Error(err)
	}
	changed := *all[kept]
	changed.Source += "\n"
	general := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Class == plan.ClassApple && b.In(plan.ClassNVIDIA, all) != nil })
	for _, tt := range []struct {
		b    *plan.Bundle
		says string
	}{
		{&plan.Bundle{Name: "unknown"}, "bundle unknown: this program has no kernels of it for NVIDIA GPUs, and none lie beside it; run make ptx && make build"},
		{&plan.Bundle{Name: "unknown", Spec: "unknown.yaml", Class: plan.ClassNVIDIA}, "run make ptx && make build"},
		{all[general], "NVIDIA GPUs, which run " + all[general].In(plan.ClassNVIDIA, all).Name + ": leave out -bundle"},
		{&changed, "is not from this Metal source; run make ptx && make build"},
	} {
		if _, err := PTX(tt.b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("PTX says %v, want %q", err, tt.says)
		}
		if err := HasPTX(tt.b); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("HasPTX says %v, want %q", err, tt.says)
		}
	}
}

// TestReleasePTX: programs for users are built with the kernels of the shipped model alone,
// also where make ptx has made others. Those are read where they lie beside the program.
func TestReleasePTX(t *testing.T) {
	for tags, want := range map[string][]string{"release": {"library.metal", "tinyglm/tinyglm.ptx.gz"}, "": {"library.metal", "tinyglm/tinyglm.ptx.gz", "yoututiny/reference/yoututiny.ptx.gz"}} {
		out, err := exec.Command("go", "list", "-tags", tags, "-f", "{{join .EmbedFiles \" \"}}", ".").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		files := strings.Fields(string(out))
		for _, name := range want {
			if !slices.Contains(files, name) {
				t.Errorf("with tags %q, %s is not embedded", tags, name)
			}
		}
		if tags == "release" && len(files) != len(want) {
			t.Errorf("a release embeds %v", files)
		}
	}
	source, err := os.ReadFile("yoututiny/reference/yoututiny.ptx.gz")
	if err != nil {
		t.Fatal(err)
	}
	all := Bundles()
	b := *all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == "yoututiny" })]
	b.Name = "elsewhere"
	installed := folders
	defer func() { folders = installed }()
	for _, folder := range installed() {
		if !filepath.IsAbs(folder) {
			t.Errorf("%q", installed())
		}
	}
	none, dir := t.TempDir(), t.TempDir()
	folders = func() []string { return []string{none, dir} }
	path := filepath.Join(dir, "elsewhere.ptx.gz")
	for _, tt := range []struct {
		name string
		file []byte
		says string // "": all is well
	}{
		{"there", source, ""},
		{"cut", source[:1000], "its PTX"},
		{"large", make([]byte, maxFile+1), "has more than 64 MiB"},
	} {
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := PTX(&b)
		if tt.says == "" && (err != nil || !strings.Contains(text, ".entry") || HasPTX(&b) != nil) || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %d bytes, %v; expected %q", tt.name, len(text), err, tt.says)
		}
	}
}
