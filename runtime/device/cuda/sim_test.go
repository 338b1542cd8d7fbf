package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"mla/gen/gentest"
	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cuda"
	"mla/runtime/doctor/devicetest"
	"mla/runtime/doctor/reference"
	"mla/runtime/plan"
	"mla/runtime/plan/pieces"
	"mla/runtime/quant"
	"mla/tools/tests/deep"
)

// The stand-in for the driver reads its configuration once, and a broken rule ends
// the process: so every case below runs in a process of its own, which is this test
// binary with MLA_CUDA_CASE set.

const caseVariable = "MLA_CUDA_CASE"

// library returns the path of the stand-in.
func library(t *testing.T) string {
	t.Helper()
	return devicetest.Library(t, "../../..", "libcudasim.so", "MLA_CUDA_LIB")
}

// testCase runs a function with the stand-in. The function returns an error that says what is wrong.
type testCase struct {
	bundle string // whose kernels run
	run    func(lib string) error
}

// parts lists the cases that run only some kernels of a bundle: those whose functions begin with one of these
// names.
var parts = map[string][]string{
	"check q8":    {"attend_q8_0", "attend_x16_q8_0", "q_b_store_kv_q4_0_q8_0", "q_b_store_kv_x16_q4_0_q8_0"},
	"check heads": {"expand_keys_expand_values_x24", "attention_x24"},
	"check split": {"embed_q", "lm_head_q", "o_proj_q4_0", "v_b_q"},
	"check large": {"o_proj_x512_q4_0"}, // in more threadgroup memory than PTX may declare with a size
}

var cases = map[string]testCase{
	"logits youtu":  {"yoututiny", logits("youtu-tiny-F32", quant.F32, 1e-3)},
	"logits glm":    {"glm47tiny", logits("glm47-tiny-Q4_0", quant.F16, 0.05)},
	"logits legacy": {"yoututiny", logits("youtu-tiny-legacykvb-F32", quant.F32, 1e-3)},
	"logits youtu4": {"youtumini", logits("youtu-mini-Q4_0", quant.F32, 1e-3)},
	"logits youtuk": {"youtumini", logits("youtu-mini-Q4_K_M", quant.F32, 1e-3)},
	"logits glmk":   {"glm47mini", logits("glm47-mini-Q4_K_M", quant.F32, 1e-3)},
	"logits dsk":    {"dsv2litemini", logits("dsv2lite-mini-Q4_K_M", quant.F32, 1e-3)},
	"half youtu":    {"youtuminif16", half("youtu-mini-Q4_0", quant.F32)},
	"half glm":      {"glm47minif16", half("glm47-mini-Q4_K_M", quant.F16)},
	"overflow":      {"dsv2liteminif16", overflow},
	"counters":      {"glm47tiny", stressed(bundle("glm47tiny"))},
	"structure":     {"yoututiny", structure},
	"refused":       {"yoututiny", refused},
	"failure":       {"yoututiny", failure},
	"unallocated":   {"yoututiny", unallocated},
	"loop": {"yoututiny", func(lib string) error {
		return with(lib, "youtu-tiny-F32", device.Config{Context: reference.LoopContext, KV: quant.F16}, func(r device.Runner) error {
			return reference.Loops(r, nil)
		})
	}},
	"crowd":       {crowdName, crowd},
	"sessions":    {"yoututiny", opened("youtu-tiny-F32", reference.Batched)},
	"logits q8":   {"youtumini", logits("youtu-mini-Q4_0", quant.Q8_0, 0.25)},
	"sessions q8": {"youtumini", opened("youtu-mini-Q4_0", reference.Sharing)},
	"check q8":    {"youtumini", checked("youtumini", parts["check q8"])},
	"check heads": {"youtumini", checked("youtumini", parts["check heads"])},
	"misuse": {"yoututiny", func(lib string) error {
		return with(lib, "youtu-tiny-F32", device.Config{Context: reference.MisuseContext, KV: quant.F16}, reference.Misuse)
	}},
	"stress":      {"yoututiny", stressed()},
	"profile":     {"glm47tiny", profile},
	"check":       {"yoututiny", checked("yoututiny", nil)},
	"check split": {"youtu2bnvidia", checked("youtu2bnvidia", parts["check split"])},
	"check large": {"youtu2bf16nvidia", checked("youtu2bf16nvidia", parts["check large"])},
	"foreign":     {"glm47tiny", unallocated},
}

func TestMain(m *testing.M) {
	name, lib, ok := strings.Cut(os.Getenv(caseVariable), "|")
	if !ok {
		os.Exit(m.Run())
	}
	if err := cases[name].run(lib); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fastBundle is the bundle that the fast tier runs, with checked kernels only.
const fastBundle = "yoututiny"

// TestStandIn runs the runtime on the stand-in.
func TestStandIn(t *testing.T) {
	lib := library(t)
	fast := []string{"CUDASIM_KERNELS=fast"} // checked loads and stores take too long
	for _, tt := range []struct {
		name, run string
		env       []string
		want      string // in what is printed; "": nothing goes wrong
	}{
		{"Youtu", "logits youtu", nil, ""},
		{"Youtu in another order", "logits youtu", []string{"CUDASIM_SEED=2"}, ""},
		{"GLM", "logits glm", nil, ""},
		{"a legacy file", "logits legacy", nil, ""},
		{"Youtu, Q4_0", "logits youtu4", fast, ""},
		{"Youtu, Q4_K_M", "logits youtuk", fast, ""},
		{"GLM, Q4_K_M", "logits glmk", fast, ""},
		{"DeepSeek, Q4_K_M", "logits dsk", fast, ""},
		{"half activations, Youtu", "half youtu", fast, ""},
		{"half activations, GLM", "half glm", fast, ""},
		{"activations beyond halves", "overflow", fast, ""},
		{"no memory for tickets", "logits glm", []string{"CUDASIM_FAULT=cuMemAlloc_v2:7:2"}, "for the counters: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"},
		{"prompts in flight", "structure", []string{"CUDASIM_KERNELS=stub"}, ""},
		{"sessions", "sessions", fast, ""},
		{"32 sessions", "crowd", fast, ""},
		{"a cache of q8_0", "logits q8", fast, ""},
		{"a cache of q8_0, sessions", "sessions q8", fast, ""},
		{"expanded heads, single kernels", "check heads", fast, ""},
		{"a cache of q8_0, single kernels", "check q8", nil, ""},
		{"loops", "loop", nil, ""},
		{"loops in another order", "loop", []string{"CUDASIM_SEED=3"}, ""},
		{"loops misused", "misuse", fast, ""},
		{"a profile", "profile", []string{"CUDASIM_MEMORY=20000000", "CUDASIM_L2=60000"}, ""},
		{"replays", "stress", fast, ""},
		// After the prompt's runs, in the logits and in the last layer's cache row: the
		// last bytes that those kernels write.
		{"a wrong logit", "stress", []string{"CUDASIM_FLIP=lm_head:131"}, "1 differ, replay 130: element 383 of the logits"},
		{"a wrong cache row", "stress", []string{"CUDASIM_FLIP=q_b_store_kv:21"}, "1 differ, replay 3: element 159 of the cache row of layer 2"},
		{"single kernels", "check", nil, ""},
		{"rows that are split", "check split", fast, ""}, // of every format, and by both uses of a matrix
		{"dynamic shared memory", "check large", fast, ""},
		{"little shared memory", "check large", []string{"CUDASIM_KERNELS=fast", "CUDASIM_SHARED=49152"}, "bytes of shared memory per block; the GPU allows 49152"},
		{"shared memory that is refused", "check large", []string{"CUDASIM_KERNELS=fast", "CUDASIM_FAULT=cuFuncSetAttribute:1:1"}, "cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE"},
		{"an old driver", "refused", []string{"CUDASIM_DRIVER=11080"}, "needs a driver for CUDA 12.3 (545 or later)"},
		{"no device", "refused", []string{"CUDASIM_DEVICES=0"}, "finds no GPU"},
		{"an old GPU", "logits youtu", []string{"CUDASIM_CAPABILITY=86"}, "compiled for compute capability 9.0 or later; simulated NVIDIA GPU has 8.6"},
		{"a small GPU", "logits youtu", []string{"CUDASIM_MEMORY=100000"}, "of the GPU's 100000"},
		{"PTX of another source", "foreign", nil, "RULE wrong-source"},
		{"a failed kernel", "failure", []string{"CUDASIM_FAULT=cuEventSynchronize:60:700+"}, "replay: cuEventSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered (700)"},
		{"one failed launch", "failure", []string{"CUDASIM_FAULT=cuGraphLaunch:3:700"}, "replay: cuGraphLaunch: CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"one failed copy", "failure", []string{"CUDASIM_FAULT=cuMemcpyDtoHAsync_v2:3:1"}, "replay: cuMemcpyDtoHAsync_v2: CUDA_ERROR_INVALID_VALUE"},
		{"a failed launch", "failure", []string{"CUDASIM_FAULT=cuGraphLaunch:3:700+"}, "replay: cuGraphLaunch: CUDA_ERROR_ILLEGAL_ADDRESS"},
		// Several readers copy: whose call reports the lost device is not settled.
		{"a device lost on the way", "failure", []string{"CUDASIM_FAULT=cuEventSynchronize:10:700+"}, "upload the weights: cu"},
		{"no memory", "unallocated", []string{"CUDASIM_FAULT=cuMemAlloc_v2:4:2"}, "for the block tables: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"},
		{"no cache", "unallocated", []string{"CUDASIM_FAULT=cuMemAlloc_v2:10:2"}, "for the KV cache of layer 1"},
		{"no page-locked memory", "unallocated", []string{"CUDASIM_FAULT=cuMemHostAlloc:2:2"}, "upload the weights: cuMemHostAlloc"},
		{"no copy", "unallocated", []string{"CUDASIM_FAULT=cuMemcpyHtoDAsync_v2:2:1"}, "upload the weights: cuMemcpyHtoDAsync_v2"},
		{"no mapped memory", "sessions", []string{"CUDASIM_KERNELS=fast", "CUDASIM_FAULT=cuMemHostGetDevicePointer_v2:1:1"}, "cuMemHostGetDevicePointer_v2: CUDA_ERROR_INVALID_VALUE"},
		{"no graph of several steps", "sessions", []string{"CUDASIM_KERNELS=fast", "CUDASIM_FAULT=cuGraphInstantiateWithFlags:7:2"}, "record 4 steps of the token with the sampler: cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY"},
		{"no stream", "unallocated", []string{"CUDASIM_FAULT=cuStreamCreate:3:2"}, "cuStreamCreate"},
		{"no event", "unallocated", []string{"CUDASIM_FAULT=cuEventCreate:6:2"}, "cuEventCreate"},
		{"no kernel", "unallocated", []string{"CUDASIM_FAULT=cuModuleGetFunction:3:500"}, "CUDA_ERROR_NOT_FOUND: named symbol not found"},
		{"no module", "unallocated", []string{"CUDASIM_FAULT=cuModuleLoadDataEx:1:218"}, "compile the kernels: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX"},
		{"no node", "unallocated", []string{"CUDASIM_FAULT=cuGraphAddKernelNode_v2:5:1"}, "record the token: cuGraphAddKernelNode_v2"},
		{"no graph", "unallocated", []string{"CUDASIM_FAULT=cuGraphInstantiateWithFlags:1:2"}, "record the token: cuGraphInstantiateWithFlags"},
	} {
		if !deep.On && (slices.Contains(tt.env, "CUDASIM_KERNELS=fast") || cases[tt.run].bundle != fastBundle) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			metal := filepath.Join(t.TempDir(), "kernels.metal")
			if err := os.WriteFile(metal, []byte(part(cases[tt.run].bundle, parts[tt.run]).Metal()), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), caseVariable+"="+tt.run+"|"+lib, "CUDASIM_METAL="+metal)
			cmd.Env = append(cmd.Env, tt.env...)
			out, err := cmd.CombinedOutput()
			broken := bytes.Contains(out, []byte("[cudasim]")) && !strings.HasPrefix(tt.want, "RULE")
			switch {
			case tt.want == "" && err != nil:
				t.Fatalf("%v\n%s", err, head(out))
			case tt.want != "" && (err == nil || broken || !bytes.Contains(out, []byte(tt.want))):
				t.Fatalf("error %v; expected %q\n%s", err, tt.want, head(out))
			}
		})
	}
}

// bundle returns the program's bundle with a name.
func bundle(name string) *plan.Bundle {
	all := generated.Bundles()
	return all[slices.IndexFunc(all, func(b *plan.Bundle) bool { return b.Name == name })]
}

// part returns a bundle with only the functions that begin with one of names; without names, the whole
// bundle. Compiling a bundle of real size takes half a minute.
func part(name string, names []string) *plan.Bundle {
	if name == crowdName {
		return crowdBundle()
	}
	printed, err := gentest.Printed("../../../specs", bundle(name))
	if err != nil {
		panic(err)
	}
	b := *printed
	if len(names) == 0 {
		return &b
	}
	b.Kernels = slices.Clone(b.Kernels)
	var functions []string
	for i := range b.Kernels {
		k := &b.Kernels[i]
		k.Variants = slices.DeleteFunc(slices.Clone(k.Variants), func(v plan.Variant) bool {
			return !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(v.Func, n) })
		})
		for _, v := range k.Variants {
			functions = append(functions, v.Func)
		}
	}
	if b.Source, err = pieces.Parse(b.Source).Cut(functions); err != nil {
		panic(err) // the source lacks one of its functions
	}
	return &b
}

// head returns the output of a process before Go's traceback of all goroutines.
func head(out []byte) []byte {
	message, _, _ := bytes.Cut(out, []byte("\ngoroutine "))
	return message
}

// record records a model.
func record(lib string, m *device.Model, cfg device.Config) (device.Runner, error) {
	d, err := cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX})
	if err != nil {
		return nil, err
	}
	return device.LoadSingle(d, m, cfg)
}

// among returns the bundles to choose from: all if none are named.
func among(bundles []*plan.Bundle) []*plan.Bundle {
	if len(bundles) == 0 {
		return generated.Bundles()
	}
	return bundles
}

// with records a file, passes the runner to f, and checks for leaks.
func with(lib, name string, cfg device.Config, f func(device.Runner) error, bundles ...*plan.Bundle) error {
	m, done, err := reference.Bind(name, among(bundles), "f32")
	if err != nil {
		return err
	}
	return errors.Join(withModel(lib, m, cfg, f), done(), leaks(lib))
}

// opened passes the device and a file's model to f, and checks for leaks.
func opened(name string, f func(device.Device, *device.Model) error) func(lib string) error {
	return func(lib string) error {
		m, done, err := reference.Bind(name, generated.Bundles(), "f32")
		if err != nil {
			return err
		}
		d, err := cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX})
		if err != nil {
			return err
		}
		return errors.Join(f(d, m), done(), leaks(lib))
	}
}

// withModel records a model and passes the runner to f.
func withModel(lib string, m *device.Model, cfg device.Config, f func(device.Runner) error) error {
	r, err := record(lib, m, cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(r), r.Close())
}

// leaks returns an error if the stand-in still has open resources.
func leaks(lib string) error {
	h, err := purego.Dlopen(lib, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return err
	}
	var count func() int32
	var retained func() uint64
	purego.RegisterLibFunc(&count, h, "cudasim_leaks")
	purego.RegisterLibFunc(&retained, h, "cudasim_retained")
	if n, refs := count(), retained(); n != 0 || refs != 0 {
		return fmt.Errorf("%d things leaked, %d references to the context", n, refs)
	}
	return nil
}

// logits compares the logits of every position with the reference. The tolerances
// are those of the CPU device: another order of float32 sums, and cache rows
// rounded to half precision.
func logits(name string, kv quant.Type, tolerance float64, bundles ...*plan.Bundle) func(string) error {
	return func(lib string) error {
		ref, err := reference.Read(name)
		if err != nil {
			return err
		}
		var last, total int64
		cfg := device.Config{Context: len(ref.Prompt), KV: kv, Progress: func(d, t int64) { last, total = d, t }}
		return with(lib, name, cfg, func(r device.Runner) error {
			if last != total || total == 0 {
				return fmt.Errorf("progress ended at %d of %d bytes", last, total)
			}
			for pos, token := range ref.Prompt {
				got, err := r.Replay(reference.Rows(token, pos), device.All(1))
				if err != nil {
					return err
				}
				if worst := ref.Worst(got, pos); !(worst <= tolerance) {
					return fmt.Errorf("position %d: logits differ by %g; at most %g is allowed", pos, worst, tolerance)
				}
			}
			return ref.InFlight(r, tolerance)
		}, bundles...)
	}
}

// half compares activations in half with their Go references.
func half(name string, kv quant.Type, bundles ...*plan.Bundle) func(string) error {
	return func(lib string) error {
		return errors.Join(reference.CompareCPU(name, among(bundles), kv, func(m *device.Model, cfg device.Config, f func(device.Runner) error) error {
			return withModel(lib, m, cfg, f)
		}), leaks(lib))
	}
}

// structure checks a runner's description of itself, and the calls that it refuses.
func structure(lib string) error {
	cfg := device.Config{Context: 40, KV: quant.F32}
	return with(lib, "youtu-tiny-F32", cfg, func(r device.Runner) error {
		if r.Dispatches() < 10 || r.Bytes() < 40*4 {
			return fmt.Errorf("%d dispatches, %d bytes", r.Dispatches(), r.Bytes())
		}
		for name, s := range map[string]plan.Row{
			"token": {Token: 1 << 20, NKV: 1}, "position": {Pos: 40, NKV: 41}, "rows": {Pos: 1, NKV: 1},
		} {
			if _, err := r.Replay([]plan.Row{s}, device.All(1)); err == nil {
				return fmt.Errorf("a wrong %s is accepted", name)
			}
		}
		for pos := range 40 {
			if got, err := r.Replay(reference.Rows(3, pos), device.AllIf(pos%16 == 15, 1)); err != nil || (got != nil) != (pos%16 == 15) {
				return fmt.Errorf("position %d: %d logits, %w", pos, len(got), err)
			}
		}
		if err := r.Close(); err != nil { // with tokens in flight
			return err
		}
		if _, err := r.Replay(reference.Rows(3, 0), device.All(1)); err == nil {
			return errors.New("a closed runner replays")
		}
		return nil
	})
}

// refused checks that the device does not open.
func refused(lib string) error {
	_, err := cuda.Open(cuda.Options{Library: lib, PTX: devicetest.PTX})
	return err
}

// failure replays until something fails, and checks that all later calls return the same error.
func failure(lib string) (err error) {
	m, done, err := reference.Bind("youtu-tiny-F32", generated.Bundles(), "f32")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	r, err := record(lib, m, device.Config{Context: 40, KV: quant.F32})
	if err != nil {
		return err
	}
	for pos := range 40 {
		_, err := r.Replay(reference.Rows(3, pos), device.AllIf(pos%2 == 0, 1))
		if err == nil {
			continue
		}
		if _, again := r.Replay(reference.Rows(3, pos), device.All(1)); !errors.Is(again, err) {
			return fmt.Errorf("first %w, then %w", err, again)
		}
		if closed := r.Close(); closed != nil {
			return fmt.Errorf("after %w, Close reports %w", err, closed)
		}
		return fmt.Errorf("replay: %w", err)
	}
	return errors.New("nothing failed")
}

// unallocated checks that recording fails and leaks nothing.
func unallocated(lib string) error {
	return with(lib, "youtu-tiny-F32", device.Config{Context: 8, KV: quant.F32}, func(device.Runner) error { return nil })
}
