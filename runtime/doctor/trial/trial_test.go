package trial

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mla/generated"
	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/check"
	"mla/runtime/doctor/checkup"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
	"mla/runtime/quant"
	"mla/runtime/system/child"
)

// rowsVariable has what this test binary writes as a stage's process.
const rowsVariable = "MLA_TRIAL_ROWS"

func TestMain(m *testing.M) {
	text, ok := os.LookupEnv(rowsVariable)
	switch {
	case !ok:
		os.Exit(m.Run())
	case text == "hang":
		time.Sleep(time.Hour)
	case text == "crash":
		panic("a wild pointer")
	}
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(1)
	}
}

const (
	okRows   = `{"kind":"use","name":"kernels","text":"31"}` + "\n" + `{"kind":"use","name":"bundle","text":"K"}` + "\n"
	fastRows = `{"kind":"use","name":"tokens a second on the GPU","text":"58.1"}` + "\n" + `{"kind":"use","name":"tokens a second on the CPU","text":"2.1"}` + "\n"
	slowRows = `{"kind":"use","name":"tokens a second on the GPU","text":"2.1"}` + "\n" + `{"kind":"use","name":"tokens a second on the CPU","text":"2.1"}` + "\n"
	badRow   = `{"kind":"fail","name":"attend_f16","text":"number 3 is off"}` + "\n"
	endRow   = `{"kind":"end"}` + "\n"
)

// TestVerdict checks that the end of the process decides the verdict, and that the trial runs once.
func TestVerdict(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		rows  string
		ok    bool
		known bool
		why   string
	}{
		"good":           {okRows + fastRows + endRow, true, true, ""},
		"slow":           {okRows + slowRows + endRow, false, true, "it is not faster than the CPU: 2.1 tokens a second, the CPU 2.1"},
		"wrong":          {okRows + badRow + endRow, false, true, "attend_f16: number 3 is off"},
		"no CPU":         {okRows + `{"kind":"use","name":"why the CPU does not run the model","text":"no memory"}` + "\n" + endRow, false, false, "no memory"},
		"no speeds":      {okRows + endRow, false, true, "without speeds"},
		"no end":         {okRows + fastRows, false, true, "before its work was done"},
		"another bundle": {strings.Replace(okRows, "K", "L", 1) + fastRows + endRow, false, false, "another bundle"},
		"crash":          {"crash", false, true, "CRASHED: panic: a wild pointer"},
		"hang":           {"hang", false, true, "HUNG: no end after"},
	} {
		t.Run(name, func(t *testing.T) {
			started := 0
			j := &Judge{Folder: t.TempDir(), Key: trust.Key{GPU: "M1", System: "s", Program: "p", Model: "m", Kernels: "K"}}
			j.Start = func() (child.Command, error) {
				started++
				limit := time.Minute
				if tt.rows == "hang" {
					limit = 300 * time.Millisecond
				}
				return child.Command{Path: exe, Env: []string{rowsVariable + "=" + tt.rows}, Limit: limit}, nil
			}
			for range 2 {
				v, known := j.Verdict(t.Context())
				if v.OK != tt.ok || known != tt.known || !strings.Contains(v.Why, tt.why) {
					t.Errorf("%+v, known %v", v, known)
				}
				if v.OK && (v.Kernels != 31 || v.GPU != 58.1 || v.CPU != 2.1) {
					t.Errorf("%+v", v)
				}
			}
			if want := map[bool]int{true: 1, false: 2}[tt.known]; started != want {
				t.Errorf("%d processes; expected %d", started, want)
			}
			// Another machine, system, program or model has no verdict yet.
			if !tt.known {
				return
			}
			own := j.Key
			for _, change := range []func(k *trust.Key){
				func(k *trust.Key) { k.GPU = "M2" }, func(k *trust.Key) { k.System = "t" }, func(k *trust.Key) { k.Program = "q" },
				func(k *trust.Key) { k.Model = "n" }, func(k *trust.Key) { k.Kernels = "L" }, func(k *trust.Key) { k.Settings = "METAL" },
			} {
				other := &Judge{Folder: j.Folder, Key: own}
				change(&other.Key)
				if v, known := other.Verdict(t.Context()); known || v.OK {
					t.Errorf("%+v: %+v", other.Key, v)
				}
			}
		})
	}
}

// TestUnkept checks that a verdict which cannot be stored still counts, and that the user is told why the
// next start checks again.
func TestUnkept(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(t.TempDir(), "full") // a file, in which nothing can be kept
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for rows, ok := range map[string]bool{okRows + fastRows + endRow: true, okRows + slowRows + endRow: false} {
		said := ""
		j := &Judge{Folder: full, Key: trust.Key{Model: "m", Kernels: "K"}, Say: func(format string, args ...any) { said += fmt.Sprintf(format, args...) },
			Start: func() (child.Command, error) {
				return child.Command{Path: exe, Env: []string{rowsVariable + "=" + rows}, Limit: time.Minute}, nil
			}}
		if err := j.Refusal(t.Context()); err != nil {
			said += err.Error()
		}
		if j.unkept == nil || !strings.Contains(said, "this could not be kept, so the next start checks again: ") || strings.Contains(said, "without the file") || strings.Contains(said, "was checked") != ok {
			t.Errorf("%s: %q", rows, said)
		}
	}
}

// TestMissing checks that without a process there is no verdict, and that none is stored.
func TestMissing(t *testing.T) {
	j := &Judge{Folder: t.TempDir(), Start: func() (child.Command, error) {
		return child.Command{Path: filepath.Join(t.TempDir(), "none"), Limit: time.Minute}, nil
	}}
	if v, known := j.Verdict(t.Context()); known || v.OK || !strings.Contains(v.Why, "did not run") {
		t.Errorf("%+v, %v", v, known)
	}
	if list, err := os.ReadDir(j.Folder); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// spoiled is a device whose logits are spoiled.
type spoiled struct {
	device.Device
	by func(x []float32)
}

func (d spoiled) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	r, err := d.Device.Load(m, cfg)
	return spoiledRunner{r, d.by}, err
}

type spoiledRunner struct {
	device.Runner
	by func(x []float32)
}

func (r spoiledRunner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	x, err := r.Runner.Replay(rows, wanted)
	if len(wanted) > 0 {
		r.by(x)
	}
	return x, err
}

// TestTokens compares a device that is the CPU, and what its logits may be.
func TestTokens(t *testing.T) {
	file, err := gguf.Open("../../../testdata/reference/youtu-tiny-F32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := bind.Resolve(file)
	b, err := r.Choose(generated.Bundles(), bind.Wish{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		by   func(x []float32)
		want string
	}{
		"the same": {func([]float32) {}, `"name":"tokens a second on the CPU"`},
		"rounded":  {func(x []float32) { x[0] *= 1 + 1e-4 }, `"name":"tokens a second on the CPU"`},
		"wrong":    {func(x []float32) { x[7] += 3*x[3] + 1 }, `"kind":"fail","name":"logits"`},
		"NaN":      {func(x []float32) { x[7] = float32(math.NaN()) }, "a logit is NaN"},
	} {
		var out strings.Builder
		s := &Subject{Writer: checkup.NewWriter(&out), Model: r, Bundle: b, CPU: cpu.New(), GPU: spoiled{cpu.New(), tt.by}, Config: device.Config{KV: quant.F32, Width: b.Width()},
			Launcher: func() (device.Launcher, func(), error) { return check.Reference{}, func() {}, nil }}
		if err := s.Run(); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
}

// TestFirstOfEach has every kernel before any for the second time.
func TestFirstOfEach(t *testing.T) {
	a, b, c := &plan.Variant{Func: "a"}, &plan.Variant{Func: "b"}, &plan.Variant{Func: "c"}
	var got string
	for _, x := range firstOfEach([]check.Case{{Variant: a, Pos: 1}, {Variant: a, Pos: 2}, {Variant: a, Pos: 3}, {Variant: b}, {Variant: c, Pos: 1}, {Variant: c, Pos: 2}}) {
		got += x.Variant.Func
	}
	if got != "abcaca" {
		t.Error(got)
	}
}
