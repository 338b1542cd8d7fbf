package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/checkup"
	"mla/runtime/doctor/stages"
	"mla/runtime/system/child"
)

// trialTime is the time limit of the test of indirect command buffers. The test takes less than a second,
// except for the first use of the system's compiler.
const trialTime = 20 * time.Second

// trusted says whether indirect command buffers (ICBs) work on a GPU. A GPU or a system on which they fail
// may crash the process that tries them, so another process tries them first (rule 18). The result is kept.
func (f *flags) trusted(gpu *metal.Info) bool {
	folder, key := metal.CacheFolder(), metal.Key(gpu, f.metalLib)
	verdict, kept := trust.Verdict{}, false
	if folder != "" {
		verdict, kept = trust.Kept(folder, trust.ICB, key)
	}
	if !kept {
		var tried bool
		if verdict, tried = f.tryICB(); tried && folder != "" {
			// Without a file the next run tries again.
			kept = trust.Keep(folder, trust.ICB, key, verdict) == nil
		}
	}
	if !verdict.OK {
		again := ""
		if kept {
			again = ", and without the file " + trust.Path(folder, trust.ICB, key) + " it is made again"
		}
		f.say("-replay auto takes encode, because a test of indirect command buffers failed: %s; -replay icb uses them all the same, -replay encode makes no test%s\n", verdict.Why, again)
	}
	return verdict.OK
}

// tryICB runs the doctor's stages about ICBs in another process. tried is false if the process found out
// nothing about them.
func (f *flags) tryICB() (v trust.Verdict, tried bool) {
	var names []string
	for _, s := range stages.All {
		if s.Trust {
			names = append(names, s.Name)
		}
	}
	c, err := f.env.self([]string{"doctor", "-stage", strings.Join(names, ","), "-device", "metal", "-metal-lib", f.metalLib, "-replay", string(metal.ReplayICB)})
	if err != nil {
		return trust.Verdict{Why: err.Error()}, false
	}
	c.Limit = trialTime
	p := f.progress("testing indirect command buffers")
	defer p.clear()
	p.show("")
	r := checkup.Run(context.Background(), "the test", c, func(checkup.Row) {})
	switch end := r.Outcome.End; {
	case r.Failures() > 0:
		return trust.Verdict{Why: fmt.Sprintf("%s: %s", r.Failed[0].Name, r.Failed[0].Text)}, end != child.Missing
	case end != child.Done:
		return trust.Verdict{Why: r.Status()}, false
	}
	return trust.Verdict{OK: true}, true
}
