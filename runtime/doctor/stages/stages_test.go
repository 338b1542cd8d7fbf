package stages

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/patient"
)

func names(a Asked, kind string) (list []string) {
	for i := range All {
		if All[i].Wanted(&a, kind) {
			list = append(list, All[i].Name)
		}
	}
	return list
}

// TestWanted holds which stages a command line has.
func TestWanted(t *testing.T) {
	short := Asked{Tokens: 16}
	for _, c := range []struct {
		asked      Asked
		kind, want string
	}{
		{short, "cpu", "system,kernels,tokens"},
		{short, "cuda", "system,compile,kernels,tokens"},
		{Asked{Tokens: 100}, "cuda", "system,compile,kernels,tokens,prompts"},
		{Asked{Model: true, Tokens: 200}, "cpu", "system,kernels,tokens"},
		{Asked{}, "cpu", "system,kernels"},
		{Asked{Model: true, Tokens: 200, Replays: 3}, "metal", "system,stress"},
		{Asked{Model: true, Tokens: 200, Steps: 1}, "cuda", "system,schedule"},
	} {
		if got := strings.Join(names(c.asked, c.kind), ","); got != c.want {
			t.Errorf("%+v on %s has the stages %s; expected %s", c.asked, c.kind, got, c.want)
		}
	}
	own := Asked{Model: true, Tokens: 200}
	given := own
	given.TokensGiven = true
	if !slices.Contains(names(own, "metal"), Trial) || slices.Contains(names(given, "metal"), Trial) || slices.Contains(names(short, "metal"), Trial) {
		t.Error("a trial is for a model of the user's own, without -n")
	}
	for _, name := range names(short, "auto") {
		if name == "read bandwidth" {
			t.Error("16 tokens measure bandwidth")
		}
	}
	if n := len(names(own, "metal")); n != 19 {
		t.Errorf("a model on Metal has %d stages; expected 19", n)
	}
	for i := range All {
		s := &All[i]
		if s.Trust && !s.icb {
			t.Errorf("%s: only stages with indirect command buffers say whether they can be trusted", s.Name)
		}
	}
}

// TestLimits checks that a check of kernels ends after its time, or after the file's kernels.
func TestLimits(t *testing.T) {
	at := slices.IndexFunc(All, func(s Stage) bool { return s.Name == Kernels })
	for _, c := range []struct {
		asked Asked
		want  time.Duration
	}{
		{Asked{Time: time.Minute}, 6 * time.Minute},
		{Asked{Time: time.Minute, Model: true}, 2 * time.Hour},
		{Asked{Time: time.Minute, Model: true, TimeGiven: true}, 6 * time.Minute},
	} {
		if got := All[at].Limit(&c.asked); got != c.want {
			t.Errorf("%+v: kernels take at most %v; expected %v", c.asked, got, c.want)
		}
	}
}

// TestRun checks that stages run in the given order, each on a newly opened device, and that a stage which a
// GPU cannot run is skipped.
func TestRun(t *testing.T) {
	var opened []metal.Replay
	for _, c := range []struct {
		replay  metal.Replay
		virtual bool
		stage   string
		opens   []metal.Replay
		row     string
		replays metal.Replay // of the program's stage
	}{
		{metal.ReplayAuto, false, TokensICB, []metal.Replay{metal.ReplayEncode}, "", metal.ReplayICB},
		{metal.ReplayAuto, false, TokensEncoded, []metal.Replay{metal.ReplayEncode}, "", metal.ReplayEncode},
		{metal.ReplayICB, false, TokensEncoded, []metal.Replay{metal.ReplayICB}, "", metal.ReplayICB},
		{metal.ReplayEncode, false, TokensICB, nil, "-replay encode", ""},
		{metal.ReplayAuto, true, TokensICB, []metal.Replay{metal.ReplayEncode}, "the GPU is virtual", ""},
		{metal.ReplayICB, true, TokensICB, []metal.Replay{metal.ReplayICB}, "", metal.ReplayICB},
	} {
		opened = nil
		var out bytes.Buffer
		var ran metal.Replay
		x := &Examination{Writer: checkup.NewWriter(&out), Asked: Asked{Replay: c.replay}, Open: func(r metal.Replay) (*patient.Patient, error) {
			opened = append(opened, r)
			d := &metal.Device{}
			d.Virtual = c.virtual
			return &patient.Patient{Kind: "metal", Metal: d}, nil
		}}
		x.Program = map[string]func() error{c.stage: func() error {
			ran = x.Replay()
			return nil
		}}
		if err := x.Run([]string{c.stage}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if !slices.Equal(opened, c.opens) || ran != c.replays || !strings.Contains(out.String(), c.row) || c.row == "" && strings.Contains(out.String(), `"skip"`) {
			t.Errorf("%+v: opened %q, replays by %q, rows:\n%s", c, opened, ran, &out)
		}
		if !strings.HasSuffix(out.String(), "{\"kind\":\"end\"}\n") {
			t.Errorf("%+v: the rows have no end:\n%s", c, &out)
		}
	}
}

// TestRunEnds checks that an error ends the stages, without a last row.
func TestRunEnds(t *testing.T) {
	sick := fmt.Errorf("no memory")
	for _, c := range []struct {
		names []string
		want  error
		text  string
	}{
		{[]string{"x-ray"}, ErrName, `"x-ray"`},
		{[]string{Tokens}, nil, `does not run the stage "tokens"`},
		{[]string{Kernels, Stress}, sick, "no memory"},
	} {
		var out bytes.Buffer
		x := &Examination{Writer: checkup.NewWriter(&out), Open: func(metal.Replay) (*patient.Patient, error) { return &patient.Patient{}, nil }}
		x.Program = map[string]func() error{Kernels: func() error { return sick }, Stress: func() error { panic("an error does not end the stages") }}
		err := x.Run(c.names)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) || strings.Contains(out.String(), `"end"`) {
			t.Errorf("%q: %v, rows:\n%s", c.names, err, &out)
		}
	}
}
