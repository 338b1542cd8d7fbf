package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mla/runtime/device/metal"
	"mla/runtime/device/metal/trust"
	"mla/runtime/doctor/checkup"
	"mla/runtime/system/child"
)

// trialTime is how long the test of indirect command buffers may take. It takes less
// than a second, but for the first use of the system's compiler.
const trialTime = 20 * time.Second

// trusted tells whether indirect command buffers (ICBs) work on a GPU. A GPU or a
// system where they do not may end the process that tries, so another process is
// the first to do so (rule 18). What came of it is kept.
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

// tryICB runs the doctor's stages on ICBs in a process of its own. tried is false if
// nothing was learned about them.
func (f *flags) tryICB() (v trust.Verdict, tried bool) {
	var names []string
	for _, s := range stages {
		if s.trust {
			names = append(names, s.name)
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
