package gen_test

import (
	"os/exec"
	"slices"
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
	{"mla/runtime/device/linalg", []string{"mla/runtime/device/linalg", "mla/runtime/quant"}, "linear algebra knows formats alone"},
	{"mla/runtime/plan/bundlefile", []string{"mla/runtime/plan", "mla/runtime/gguf", "mla/runtime/system"}, "a bundle on disk knows no device"},
	{"mla/runtime/plan/", []string{"mla/runtime/plan", "mla/runtime/quant"}, "what reads plans knows no device"},
	{"mla/runtime/gguf/hparams", nil, "what a model is stands alone"},
	{"mla/runtime/plan", []string{"mla/runtime/gguf/hparams", "mla/runtime/quant"}, "the plan has no logic"},
	{"mla/runtime/system", []string{"mla/runtime/system"}, "what touches the operating system knows no model"},
	{"mla/runtime/gguf", []string{"mla/runtime/gguf", "mla/runtime/quant", "mla/runtime/system"}, "a file's tensors and keys, on no device"},
	{"mla/runtime/device", wings("device"), "a device replays plans; it loads nothing and picks no words"},
	{"mla/runtime/text", wings("text"), "text is tokens, grammars and samplers, whatever runs the model"},
	{"mla/runtime/load", wings("load"), "what is loaded is bound, not run"},
	{"mla/runtime/engine", wings("engine"), "the engine serves nobody yet"},
	{"mla/runtime/serve/completion/completiontest", []string{"mla/runtime/"}, "it stands in for a device under the tests of what serves"},
	{"mla/runtime/serve", wings("serve"), "what serves needs no doctor"},
	{"mla/runtime", []string{"mla/runtime/"}, "the runtime never imports the compiler or a bundle"},
	{"mla/gen/msl/execute", []string{"mla/sim", "mla/gen/objects", "mla/runtime/plan"}, "running Metal source on the CPU is for tests; it needs only the executor"},
	{"mla/sim/replay", []string{"mla/gen/msl/execute", "mla/runtime/"}, "it replays plans with executed Metal source, on no device"},
	{"mla/sim/mutate", []string{"mla/sim/mutate/", "mla/sim/replay", "mla/gen/msl/execute", "mla/gen/msl/text", "mla/runtime/", "mla/generated"}, "it breaks what was compiled, and runs it"},
	{"mla/sim", nil, "the simulator stands in for Apple's software and knows nothing of the project"},
	{"mla/gen/fingerprint", []string{"mla/gen", "mla/runtime/device", "mla/runtime/doctor/reference", "mla/runtime/plan", "mla/runtime/system/atomicfile"},
		"a command that compiles for devices; it asks them which kernels a model needs"},
	{"mla/gen/registers", []string{"mla/gen", "mla/runtime/device", "mla/runtime/doctor/reference", "mla/runtime/plan", "mla/runtime/quant", "mla/runtime/system/atomicfile"},
		"as gen/fingerprint"},
	{"mla/gen/target", []string{"mla/runtime/plan", "mla/runtime/quant", "mla/runtime/gguf/hparams", "mla/runtime/device/chips"}, "what devices have is tables; they know no spec"},
	{"mla/gen/spectest", []string{"mla/gen/spec", "mla/gen/weights", "mla/runtime/plan", "mla/runtime/quant", "mla/runtime/gguf"}, "random models for tests of the compiler"},
	{"mla/gen/spec", []string{"mla/gen/target", "mla/gen/yamledit", "mla/runtime/plan", "mla/runtime/quant", "mla/runtime/gguf", "mla/runtime/system/userfile", "mla/runtime/system/nearest"}, "it reads YAML"},
	{"mla/gen", []string{"mla/gen", "mla/templates", "mla/runtime/plan", "mla/runtime/quant", "mla/runtime/gguf", "mla/runtime/system/atomicfile", "mla/runtime/system/userfile", "mla/runtime/system/nearest"},
		"the compiler knows formats and plans, not devices"},
}

// floors are the folders of the runtime in layers, the lowest first. A package must not import packages of
// its own layer in another folder, or of a higher layer.
var floors = [][]string{{"system", "quant"}, {"gguf"}, {"plan"}, {"device"}, {"text", "load"}, {"engine"}, {"serve"}}

// wings are the import paths that a wing may have: its own, and all on lower floors.
func wings(name string) []string {
	var list []string
	for _, floor := range floors {
		if slices.Contains(floor, name) {
			return append(list, "mla/runtime/"+name)
		}
		for _, w := range floor {
			list = append(list, "mla/runtime/"+w)
		}
	}
	panic("no wing " + name)
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
