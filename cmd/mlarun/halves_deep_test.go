//go:build deep

package main

import (
	"fmt"
	"strings"
	"testing"

	"mla/runtime/doctor/devicetest"
)

// overflowing is the path of devicetest.Overflow.
func overflowing(t *testing.T) string {
	t.Helper()
	path, err := devicetest.Overflow("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The text "you" is devicetest.OverflowToken.

// TestHalvesOnGPU: activations are halves on a simulated GPU, which picks tokens itself. A file
// whose activations leave their range has the texts of floats, from every command, says so once,
// and begins with floats the next time.
func TestHalvesOnGPU(t *testing.T) {
	file := overflowing(t)
	gpu := " -device metal -replay encode -metal-lib " + simulator(t)
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(devicetest.OverflowPrompt), " ", ","), "[]")
	const says = "the model goes on with f32, and will from now on"
	run := func(cache, args string) result {
		t.Helper()
		return process(t, []string{"METALSIM_KERNELS=fast", "XDG_CACHE_HOME=" + cache}, strings.Fields(args+" -model "+file)...)
	}
	for name, args := range map[string]string{
		"greedy":   "greedy -n 8 -tokens " + list + " -tokens 1,2,3",
		"chat":     "-n 8 -chat-template testdata/plain.jinja -p you -temp 0.8 -seed 5",
		"guesses":  "-n 8 -raw -p you -temp 0 -draft ngram",
		"parallel": "-n 8 -raw -parallel 2 -f testdata/overflow.txt -temp 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			want := run(t.TempDir(), args+" -act f32 -device cpu")
			got := run(cache, args+" -act f16"+gpu)
			if want.code != exitOK || got.code != exitOK || got.out != want.out || strings.Count(got.err, says) != 1 || !strings.Contains(got.err, "(f16 activations)") {
				t.Errorf("code %d, %q; want %q\n%s%s", got.code, got.out, want.out, got.err, want.err)
			}
			if name != "parallel" {
				return
			}
			if again := run(cache, args+gpu); again.out != want.out || !strings.Contains(again.err, "(f32 activations)") || strings.Contains(again.err, says) {
				t.Errorf("the next time: %q; want %q\n%s", again.out, want.out, again.err)
			}
		})
	}
}

// TestServeHalves: a server goes on with floats, and its requests do not notice.
func TestServeHalves(t *testing.T) {
	t.Setenv("METALSIM_KERNELS", "fast")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	file := overflowing(t)
	texts := func(args ...string) string {
		choices, _ := asked(t, map[string]any{"prompt": []string{"you", "hello", "what are you"}, "max_tokens": 8}, append(args, "-model", file, "-bundle", "")...)
		return fmt.Sprint(choices)
	}
	if want, got := texts("-device", "cpu", "-act", "f32"), texts("-act", "f16", "-device", "metal", "-replay", "encode", "-metal-lib", simulator(t)); got != want || strings.Count(want, "length") != 3 {
		t.Errorf("%s; want %s", got, want)
	}
}
