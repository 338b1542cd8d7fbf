package gen_test

import (
	"os/exec"
	"strings"
	"testing"
)

// rules says which packages of the module a package may import: the first rule
// whose prefix matches counts.
var rules = []struct {
	prefix  string
	allowed []string
	why     string
}{
	{"mla/generated/", []string{"mla/runtime/plan", "mla/runtime/quant"}, "generated code is data"},
	{"mla/generated", []string{"mla/generated/", "mla/runtime/plan"}, "the registry only lists bundles"},
	{"mla/runtime/quant", []string{"mla/runtime/quant"}, "formats stand alone"},
	{"mla/runtime/linalg", []string{"mla/runtime/linalg", "mla/runtime/quant"}, "linear algebra knows formats alone"},
	{"mla/runtime/plan/", []string{"mla/runtime/plan", "mla/runtime/quant"}, "what reads plans knows no device"},
	{"mla/runtime/hparams", nil, "what a model is stands alone"},
	{"mla/runtime/plan", []string{"mla/runtime/hparams", "mla/runtime/quant"}, "the plan has no logic"},
	{"mla/runtime", []string{"mla/runtime/"}, "the runtime never imports the compiler or a bundle"},
	{"mla/gen/msl/execute", []string{"mla/sim", "mla/gen/objects", "mla/runtime/plan"}, "running Metal source on the CPU is for tests; it needs only the executor"},
	{"mla/sim/replay", []string{"mla/gen/msl/execute", "mla/runtime/"}, "it replays plans with executed Metal source, on no device"},
	{"mla/sim/mutate", []string{"mla/sim/mutate/", "mla/sim/replay", "mla/gen/msl/execute", "mla/runtime/", "mla/generated"}, "it breaks what was compiled, and runs it"},
	{"mla/sim", nil, "the simulator stands in for Apple's software and knows nothing of the project"},
	{"mla/gen/fingerprint", []string{"mla/gen", "mla/runtime/device", "mla/runtime/plan", "mla/runtime/atomicfile"},
		"a command that compiles for devices; it asks them which kernels a model needs"},
	{"mla/gen", []string{"mla/gen", "mla/templates", "mla/runtime/plan", "mla/runtime/quant", "mla/runtime/gguf", "mla/runtime/hparams", "mla/runtime/atomicfile", "mla/runtime/userfile", "mla/runtime/chips"},
		"the compiler knows formats and plans, not devices"},
}

// TestImports holds the direction of the data: spec → ops → … → device.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "mla/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		for _, r := range rules {
			if strings.HasPrefix(fields[0], r.prefix) {
				for _, imp := range fields[1:] {
					if strings.HasPrefix(imp, "mla/") && !anyPrefix(imp, r.allowed) {
						t.Errorf("%s imports %s: %s", fields[0], imp, r.why)
					}
				}
				break
			}
		}
	}
}

func anyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
