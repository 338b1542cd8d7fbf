package generated

import (
	"os"
	"os/exec"
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
	general := slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Class == "" && b.In(plan.ClassNVIDIA, all) != nil })
	for _, tt := range []struct {
		b    *plan.Bundle
		says string
	}{
		{&plan.Bundle{Name: "unknown"}, "bundle unknown: this program has no kernels of it for NVIDIA GPUs; run make ptx && make build"},
		{&plan.Bundle{Name: "unknown", Spec: "unknown.yaml", Class: plan.ClassNVIDIA}, "run make ptx && make build"},
		{all[general], "NVIDIA GPUs, which run " + all[general].Name + "nvidia: leave out -bundle"},
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

// TestReleasePTX: programs for users are built without the kernels of bundles that only tests
// run, also where make ptx has made them.
func TestReleasePTX(t *testing.T) {
	list, err := os.ReadFile("../specs/reference.txt")
	if err != nil {
		t.Fatal(err)
	}
	for tags, want := range map[string]bool{"release": false, "": true} {
		files, err := exec.Command("go", "list", "-tags", tags, "-f", "{{join .EmbedFiles \"\\n\"}}", ".").CombinedOutput()
		if err != nil || !strings.Contains(string(files), "tinyglm/tinyglm.ptx.gz") {
			t.Fatalf("%v: %s", err, files)
		}
		has := false
		for line := range strings.Lines(string(list)) {
			if !strings.HasPrefix(line, "#") {
				has = has || strings.Contains(string(files), strings.TrimSpace(line)+"/")
			}
		}
		if has != want {
			t.Errorf("with tags %q, PTX of tests' bundles: %v; expected %v\n%s", tags, has, want, files)
		}
	}
}
