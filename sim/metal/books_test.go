//go:build linux

package metal_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

func init() { positive["idle"], positive["leaky"] = idle, leaky }

// idle replays with a set after 0.9 idle seconds, after 1.1, after 2 with a request
// between, and after the end of its residency: the second and the last find it
// un-wired.
func idle(s *sim) {
	r := newRig(s).prepare().record()
	r.residencySet(true, append(r.all(), r.icb)...)
	r.send(r.set, "requestResidency")
	for _, gap := range []struct {
		seconds float64
		then    string
	}{{0.9, ""}, {1.1, ""}, {1, "requestResidency"}, {1, ""}, {0, "endResidency"}} {
		r.pass(gap.seconds)
		if gap.then != "" {
			r.send(r.set, gap.then)
		}
		if gap.then != "requestResidency" {
			r.step(2, func() id { return r.replay(2) })
		}
	}
	r.finish()
}

// leaky ends without releasing the device, two buffers, the ICB, one pool, and one command buffer in flight,
// to which only its queue has a reference.
func leaky(s *sim) {
	r := newRig(s).prepare().record()
	r.send(r.replay(2, r.all()...), "commit")
	r.poolPop(r.pool)
	r.poolPush()
	for _, o := range []id{r.scale, r.sum, r.beyond, r.lib, r.x, r.y, r.queue} {
		r.send(o, "release")
	}
}

// counts are the numbers in the file that METALSIM_REPORT names.
type counts struct {
	Left                       [3]uint64 // objects, pools, command buffers in flight
	Made, Commits              uint64
	Members, Requests, Unwired uint64
}

// counted runs a program and reads its counts.
func counted(t *testing.T, name string, env ...string) (got counts) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report")
	if out, err := child(t, name, append(env, "METALSIM_REPORT="+path)...); err != nil {
		t.Fatalf("%s: %v\n%.2000s", name, err, out)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := binary.Read(file, binary.NativeEndian, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestResidencyBooks checks the counters of residency sets.
func TestResidencyBooks(t *testing.T) {
	compileKernels(t)
	for _, tt := range []struct {
		name                       string
		env                        []string
		members, requests, unwired uint64
	}{
		{"idle", nil, 5, 2, 2},
		{"sets", nil, 5, 0, 1},
		{"sets", []string{"METALSIM_OS=26"}, 7, 0, 1},
		{"replay", nil, 0, 0, 0},
	} {
		if got := counted(t, tt.name, tt.env...); got.Members != tt.members || got.Requests != tt.requests || got.Unwired != tt.unwired {
			t.Errorf("%s %v: %+v; want %+v", tt.name, tt.env, got, tt)
		}
	}
}

// TestReport reads the counts that METALSIM_REPORT keeps, after a program that
// leaves nothing and one that does.
func TestReport(t *testing.T) {
	compileKernels(t)
	for name, want := range map[string][3]uint64{"replay": {0, 0, 0}, "leaky": {4, 1, 1}} {
		if got := counted(t, name); got.Left != want || got.Made < 10 || got.Commits < 1 {
			t.Errorf("%s: %+v; want %v left", name, got, want)
		}
	}
}
