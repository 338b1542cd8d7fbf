package sources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mistake is a named mistake. It replaces the text old, which must occur exactly once in the file, by the
// text by.
type mistake struct{ name, file, old, by string }

// named are mistakes against the rules of the Metal API. Files are relative to runtime/device/metal.
var named = []mistake{
	{"residency/weights", "replay.go", "e.Use(r.constant, mtl.UsageRead)", ""},
	{"residency/rows", "replay.go", "e.Use(r.rows[slot:slot+1], mtl.UsageReadWrite)", ""},
	{"residency/mutable", "replay.go", "e.Use(r.mutable, mtl.UsageReadWrite)", ""},
	{"residency/mutable-as-read", "replay.go", "e.Use(r.mutable, mtl.UsageReadWrite)", "e.Use(r.mutable, mtl.UsageRead)"},
	{"residency/set-buffers", "build.go", "r.resident.AddBuffer(b)", "_ = b"},
	{"residency/set-pipelines-unasked", "mtl/residency.go", "return r.addIfAllocation(p.id)", "messages.addAllocation.send(r.id, p.id)\n	return true"},
	{"residency/set-members-unasked", "mtl/residency.go", "!messages.conformsTo.send(o, protocol)", "messages.conformsTo.send(o, protocol) && false"},
	{"residency/set-commands", "build.go", "r.resident.AddIndirect(icb)", "_ = icb"},
	{"residency/set-pipelines", "build.go", "r.resident.AddPipeline(p)", "_ = p"},
	{"residency/set-commit", "build.go", "r.resident.Commit()", ""},
	{"residency/heartbeat-never-starts", "heartbeat.go", "	h.touch()\n	go h.run(beat)", "	go h.run(beat)"},
	{"residency/heartbeat-never-stops", "heartbeat.go", "	close(h.stop)\n	<-h.done\n", ""},
	{"residency/heartbeat-outlives-close", "heartbeat.go", "	<-h.done\n", ""},
	{"residency/heartbeat-for-ever", "heartbeat.go", "time.Since(last) < heartbeatIdle", "time.Since(last) < 1000*heartbeatIdle"},
	{"residency/heartbeat-only-once", "heartbeat.go", "	return true\n", "	return false\n"},
	{"residency/heartbeat-too-slow", "heartbeat.go", "500 * time.Millisecond", "1500 * time.Millisecond"},
	{"residency/heartbeat-not-told", "submit.go", "	r.heartbeat.touch()\n", ""},
	{"residency/heartbeat-asks-nothing", "mtl/residency.go", "{ messages.requestResidency.send(r.id) }", "{}"},
	{"residency/set-of-queue", "build.go", "r.queue.AddResidency(r.resident)", ""},
	{"residency/warm-pipelines", "build.go", "recording.warm = r.pipelines", ""},

	{"gpu/memory-of-its-own", "metal.go", "case !i.UnifiedMemory:", "case false && !i.UnifiedMemory:"},
	{"gpu/not-apple", "metal.go", "case i.Family < 7 && !i.Virtual:", "case i.Family < 7 && i.Virtual && !i.Virtual:"},
	{"gpu/virtual-refused", "metal.go", "case i.Family < 7 && !i.Virtual:", "case i.Family < 7:"},
	{"gpu/virtual-by-icb", "metal.go", "if !d.Virtual && o.Trusted != nil", "if o.Trusted != nil"},
	{"gpu/untrusted-by-icb", "metal.go", "&& o.Trusted(&d.Info) {", "&& (o.Trusted(&d.Info) || true) {"},
	{"gpu/nobody-asked", "metal.go", "o.Trusted != nil && o.Trusted(&d.Info) {", "(o.Trusted == nil || o.Trusted(&d.Info)) {"},
	{"gpu/virtual-fails", "unsupported.go", "err == nil || !i.Virtual", "err == nil || i.Virtual || !i.Virtual"},
	{"gpu/kernels-of-m1-forgotten", "metal.go", "newSequence(m, cfg, l, d.KernelClass())", `newSequence(m, cfg, l, "")`},
	{"gpu/kernels-of-m1-for-all", "metal.go", "if d.Family < 9 {\n		return plan.ClassApple7", "if d.Family < 90 {\n		return plan.ClassApple7"},
	{"gpu/kernels-of-m1-not-for-m2", "metal.go", "if d.Family < 9 {\n		return plan.ClassApple7", "if d.Family < 8 {\n		return plan.ClassApple7"},
	{"gpu/kernels-of-m1-with-threads-of-others", "../command.go", "Kernel: k, Variant: v,", "Kernel: &r.model.Bundle.Kernels[d.Kernel], Variant: v,"},
	{"gpu/family-of-m5", "mtl/device.go", "Apple10 = 1010", "Apple10 = 1009"},
	{"system/version-as-claimed", "mtl/foundation.go", `sysctl("kern.osproductversion")`, `sysctl("kern.osversion")`},

	{"indirect/inherit-buffers", "mtl/indirect.go", "messages.inheritBuffers.send(descriptor.id, false)", ""},
	{"indirect/inherit-buffers-yes", "mtl/indirect.go", "messages.inheritBuffers.send(descriptor.id, false)", "messages.inheritBuffers.send(descriptor.id, true)"},
	{"indirect/inherit-pipeline", "mtl/indirect.go", "messages.inheritPipeline.send(descriptor.id, false)", ""},
	{"indirect/command-type", "mtl/indirect.go", "commandConcurrentDispatch = 1 << 5", "commandConcurrentDispatch = 1 << 6"},
	{"indirect/bind-count", "mtl/indirect.go", "uint64(bindings)", "uint64(bindings-1)"},
	{"indirect/supported", "mtl/pipeline.go", "messages.supportIndirect.send(p.id, indirect)", "_ = indirect"},
	{"indirect/too-few-commands", "replay.go", "gpu.NewIndirect(len(s.commands),", "gpu.NewIndirect(len(s.commands)-1,"},
	{"indirect/empty-command", "replay.go", "for i := range s.commands {", "for i := range s.commands[1:] {"},
	{"indirect/too-many-executed", "mtl/command.go", "span{uint64(from), uint64(n)}", "span{uint64(from), uint64(n) + 4}"},
	{"indirect/from-second", "mtl/command.go", "span{uint64(from), uint64(n)}", "span{uint64(from) + 1, uint64(n) - 1}"},
	{"indirect/barriers", "replay.go", "				to.Barrier()\n", ""},
	{"indirect/barrier-after-dispatch", "replay.go", "			if c.Dispatch.Barrier {\n				to.Barrier()\n			}\n			to.Dispatch(size(c.Groups), size(c.Kernel.Threads))",
		"			to.Dispatch(size(c.Groups), size(c.Kernel.Threads))\n			if c.Dispatch.Barrier {\n				to.Barrier()\n			}"},
	{"encode/barriers", "replay.go", "c.Dispatch.Barrier || n > 0 && i == r.from", "n < 0 && c.Dispatch.Barrier"},
	{"encode/barrier-scope", "mtl/command.go", "barrierScopeBuffers = 1", "barrierScopeBuffers = 2"},

	{"offset/window-past-4GiB", "window.go", "maxWindow = 1 << 32", "maxWindow = 1 << 33"},
	{"offset/cache-of-two-layers", "../spaces.go", "return m.Caches[b.Index]", "return m.Caches[b.Index&^1]"},
	{"offset/shared-cache", "../spaces.go", "return m.Caches[b.Index]", "return m.Caches[0]"},
	{"align/constants", "../command.go", "ConstantsAlign = 256", "ConstantsAlign = 128"},
	{"align/window", "window.go", "start: t.Offset / pageSize * pageSize}", "start: t.Offset}"},
	{"align/window-length", "window.go", "end := pages(t.Offset + t.Bytes)", "end := t.Offset + t.Bytes"},
	{"align/weights", "window.go", " && t.Offset%device.WeightAlign == 0", ""},
	{"align/arena", "../command.go", "arenaAlign = 16", "arenaAlign = 2"},

	{"lifetime/pipelines-early", "build.go", "	if d.Family < 9 {", "	for _, p := range r.pipelines {\n		p.Release()\n	}\n	if d.Family < 9 {"},
	{"lifetime/arena-early", "build.go", "	if d.Family < 9 {", "	r.memory.Spaces[plan.SpaceArena].Release()\n	if d.Family < 9 {"},
	{"lifetime/weights-early", "build.go", "	if d.Family < 9 {", "	r.memory.weights[0].Release()\n	if d.Family < 9 {"},
	{"lifetime/library-leaks", "build.go", "c.library.Release()", ""},
	{"lifetime/archived-library-leaks", "archive.go", "s.library.Release()", ""},
	{"lifetime/function-leaks", "mtl/pipeline.go", "defer f.Release()", ""},
	{"lifetime/descriptor-leaks", "mtl/indirect.go", "defer descriptor.Release()", ""},
	{"lifetime/released-twice", "mtl/foundation.go", "messages.release.send(o.id)", "messages.release.send(o.id)\n		messages.release.send(o.id)"},
	{"lifetime/never-released", "mtl/foundation.go", "messages.release.send(o.id)", ""},
	{"lifetime/commands-not-retained", "mtl/command.go", "Commands{object{messages.retain.send(c)}}", "Commands{object{c}}"},
	{"lifetime/commands-leak", "submit.go", "	commands.Release()\n	return took, err", "	return took, err"},
	{"lifetime/queue-first", "runner.go", "	if r.replayer != nil {\n		r.replayer.release()\n", "	r.gpu.Release()\n	if r.replayer != nil {\n		r.replayer.release()\n"},

	{"flight/no-wait-for-the-slot", "runner.go", "slot, err := r.units.Slot()", "slot, err := r.units.Next(), error(nil)"},
	{"flight/one-row-for-all", "memory.go", "return m.rows[slot], uint64(m.wantedBytes)", "return m.rows[0], uint64(m.wantedBytes)"},
	{"flight/logits-too-early", "runner.go", "	return r.units.Drain()\n}\n\n// narrowest", "	return nil\n}\n\n// narrowest"},
	{"flight/close-without-waiting", "runner.go", "		err := r.units.Drain()\n", "		var err error\n"},
	{"flight/status-unchecked", "mtl/wait.go", "messages.status.send(c.id) == statusCompleted", "messages.status.send(c.id) != 0"},

	{"loop/no-barrier-between-steps", "replay.go", "		if n > 0 {\n", "		if n < 0 {\n"},
	{"loop/no-barrier-between-steps-encoded", "replay.go", "c.Dispatch.Barrier || n > 0 && i == r.from", "c.Dispatch.Barrier || n < 0"},
	{"loop/rows-of-another-slot", "picks.go", "r.loop.rows = len(picks), slot,", "r.loop.rows = len(picks), (slot + 1) % ring,"},
	{"loop/no-wait-for-slot", "picks.go", "			if _, err := r.units.Slot(); err != nil {\n				return err\n			}\n", ""},
	{"loop/no-wait-for-the-tokens", "picks.go", "return mtl.Pool(func() error { return r.units.Wait(slot) })", "return nil"},
	{"loop/one-too-few", "picks.go", "r.step(q), n, r.loop.rows", "r.step(q), n-1, r.loop.rows"},
	{"loop/not-forgotten-by-replay", "runner.go", "	r.loop.Forget()\n", ""},
	{"loop/of-another-turn", "../loop.go", "turn := (l.returned + 1) % MaxAhead", "turn := l.returned % MaxAhead"},

	{"picks/one-command-too-few", "sequence.go", "[]run{{q.from, s.picks.to}}", "[]run{{q.from, s.picks.to - 1}}"},
	{"rows/dead-ones-live", "runner.go", "clear(to[copy(to, rows):])", "copy(to, rows)"},
	{"rows/too-narrow", "runner.go", "return q.width >= rows", "return q.width > rows"},
	{"rows/of-the-decode-sequence", "runner.go", "runs[0].to = q.to", "runs[0] = run{0, q.to - q.from}"},

	{"pages/entries-not-written", "pages.go", "r.tables.Write(r.memory.Spaces[plan.SpaceTables].Bytes(), at, len(pages))", "_ = at"},
	{"pages/of-another-page", "../caches.go", "c.page(layer, from)[at:])", "c.page(layer, to)[at:])"},

	{"pool/not-popped", "mtl/load.go", "defer functions.poolPop(functions.poolPush())", "functions.poolPush()"},
	{"pool/none", "mtl/load.go", "defer functions.poolPop(functions.poolPush())", ""},
	{"pool/pushed-twice", "mtl/load.go", "defer functions.poolPop(functions.poolPush())", "functions.poolPush()\n	defer functions.poolPop(functions.poolPush())"},
	{"pool/popped-twice", "mtl/load.go", "defer functions.poolPop(functions.poolPush())", "p := functions.poolPush()\n	defer functions.poolPop(p)\n	defer functions.poolPop(p)"},

	{"math/fast", "mtl/device.go", "messages.mathMode.send(options.id, mathModeSafe)", ""},
	{"math/fast-before-15", "mtl/device.go", "messages.fastMath.send(options.id, false)", ""},
	{"math/fast-functions", "mtl/device.go", "messages.mathFunctions.send(options.id, mathFunctionsPrecise)", ""},
	{"storage/logits-private", "memory.go", "	case plan.SpaceHeads:\n		return mtl.StoragePrivate", "	case plan.SpaceHeads, plan.SpaceLogits:\n		return mtl.StoragePrivate"},
	{"bind/wrong-slot", "replay.go", "to.SetBuffer(buffer, offset, at)", "to.SetBuffer(buffer, offset, (at+1)%len(c.Bindings))"},
	{"bind/last-missing", "replay.go", "			for at := range c.Bindings {\n				buffer, offset := m.at", "			for at := range c.Bindings[1:] {\n				buffer, offset := m.at"},
	{"bind/offset-forgotten", "replay.go", "to.SetBuffer(buffer, offset, at)", "to.SetBuffer(buffer, 0*offset, at)"},
	{"grid/groups", "replay.go", "to.Dispatch(size(c.Groups), size(c.Kernel.Threads))", "to.Dispatch(size(c.Groups-1), size(c.Kernel.Threads))"},
	{"grid/swapped", "replay.go", "to.Dispatch(size(c.Groups), size(c.Kernel.Threads))", "to.Dispatch(size(c.Kernel.Threads), size(c.Groups))"},
}

// inKernels are mistakes in kernels that no reference file runs. Files are relative to templates/msl. The
// mistakes in attend_apple7 matter only for shapes in which simdgroups do not divide the columns evenly (GLM
// has eleven column tiles) or a tile has eight rows. The mistakes in cache_q8_0 matter only for a cache of
// Q8_0.
var inKernels = []mistake{
	{"attend_apple7/latent-columns", "lib/attend_matrix.metal", "LAT % (8u * SIMDGROUPS) == 0u ||", "LAT % 8u == 0u ||"},
	{"attend_apple7/last-latent-column", "lib/attend_matrix.metal", "column(j, sg) < LAT :", "column(j, sg) <= LAT :"},
	{"attend_apple7/rotated-columns", "lib/attend_matrix.metal", "PE % (8u * SIMDGROUPS) == 0u ||", "PE % 8u == 0u ||"},
	{"attend_apple7/sums-of-sixteen-rows", "lib/attend_matrix.metal", "d < TILE; d *= 2) v += ", "d < 16u; d *= 2) v += "},
	{"attend_apple7/heads-of-sixteen-rows", "lib/attend_matrix.metal", "* 32u + lane) / TILE;", "* 32u + lane) / 16u;"},
	{"cache_q8_0/scale-of-two-blocks", "lib/cache_q8_0.metal", "c.scale = r.scales[row * (W / 32u) + column / 32u];", "c.scale = r.scales[row * (W / 32u) + column / 64u];"},
	{"cache_q8_0/middle", "lib/cache_q8_0.metal", "half(1024.0f + 128.0f)", "half(1024.0f + 127.0f)"},
	{"cache_q8_0/rounded-down", "lib/cache_q8_0.metal", "rint(v * inverse)", "floor(v * inverse)"},
	{"cache_q8_0/next-rows", "lib/cache_q8_0.metal", "r.scales += n * (W / 32u);", "r.scales += n * (W / 64u);"},
	{"cache_q8_0/first-half-twice", "lib/cache_q8_0.metal", "eight(c.bits.zw,", "eight(c.bits.xy,"},
	{"cache_q8_0/one-scale-a-row", "lib/cache_q8_0.metal", "if (lane == 0) ((device half *)", "if (column == 0u) ((device half *)"},
}

// Named lists the named mistakes in the Metal runtime below root. It is an error if the text of a mistake
// does not occur exactly once in its file.
func Named(root string) ([]Mutation, error) { return made(root, "runtime/device/metal", named) }

// InKernels lists the named mistakes in the templates of kernels below root. Its errors are those of Named.
func InKernels(root string) ([]Mutation, error) { return made(root, "templates/msl", inKernels) }

func made(root, folder string, mistakes []mistake) ([]Mutation, error) {
	var all []Mutation
	var missing []error
	for _, n := range mistakes {
		file := filepath.ToSlash(filepath.Join(folder, n.file))
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		if found := strings.Count(string(text), n.old); found != 1 {
			missing = append(missing, fmt.Errorf("sim/mutate/sources: the mistake %s changes %q, which %s has %d times; expected once", n.name, n.old, file, found))
		}
		all = append(all, Mutation{"named/" + n.name, file, []byte(strings.Replace(string(text), n.old, n.by, 1))})
	}
	return all, errors.Join(missing...)
}
