package main

import (
	"slices"
	"strings"
	"testing"

	"mla/generated"
	"mla/runtime/plan"
)

// onAll are the bundles of youtumini for all devices.
func onAll() []*plan.Bundle {
	return slices.DeleteFunc(slices.Clone(generated.Bundles()), func(b *plan.Bundle) bool { return b.Spec != "youtumini.yaml" })
}

// onNVIDIA are those of onAll, again for NVIDIA GPUs.
func onNVIDIA() (list []*plan.Bundle) {
	for _, b := range onAll() {
		own := *b
		own.Name, own.Class = b.Name+"nvidia", plan.ClassNVIDIA
		list = append(list, &own)
	}
	return list
}

// TestClass: bundles for another class of devices are listed, not used, unless they are
// asked for or there is no other.
func TestClass(t *testing.T) {
	all := append(onAll(), onNVIDIA()...)
	for _, tt := range []struct {
		bundles []*plan.Bundle
		args    string
		want    []string
	}{
		{all, "inspect " + youtu, []string{
			"youtuminif16nvidia (f16 activations, for nvidia) fits, quant profile", "mlarun uses youtumini, on nvidia youtumininvidia.\n",
			"On a GPU, or with -act f16, it uses youtuminif16, on nvidia youtuminif16nvidia.\n"}},
		{all, "-n 2 -p a -device cpu -v -model " + youtu, []string{"bundle youtumini (f32 activations) on cpu"}},
		{all, "-n 2 -p a -device cpu -v -act f16 -bundle youtuminif16nvidia -model " + youtu, []string{"bundle youtuminif16nvidia (f16 activations, for nvidia) on cpu"}},
		{onNVIDIA(), "-n 2 -p a -device cpu -v -model " + youtu, []string{"bundle youtumininvidia (f32 activations, for nvidia) on cpu"}},
		{all, "bench -p 0 -n 1 -r 1 -device cpu -bundle youtumininvidia -model " + youtu, []string{"bundle youtumininvidia (f32 activations, for nvidia), cpu device"}},
		{all, "doctor -device cpu -n 0 -bundle youtumininvidia -model " + youtu, []string{"kernels of youtumininvidia (f32 activations, for nvidia, spec"}},
	} {
		r := with(tt.bundles, "", strings.Fields(tt.args)...)
		for _, want := range tt.want {
			if text := r.out + r.err; r.code != 0 || !strings.Contains(text, want) {
				t.Errorf("mlarun %s: code %d; want %q:\n%s", tt.args, r.code, want, text)
			}
		}
	}
	checksOnly(t, "youtumini", "f32", all)
}

// TestOtherClass: who runs a bundle on other devices than it is for is told.
func TestOtherClass(t *testing.T) {
	for _, tt := range []struct{ bundle, device, want string }{
		{"", "nvidia", ""}, {"nvidia", "nvidia", ""}, {"nvidia", "", ""},
		{"nvidia", "apple", "the shapes of its kernels are for devices of class nvidia, not apple\n"},
	} {
		if got := otherClass(&plan.Bundle{Class: tt.bundle}, tt.device); got != tt.want {
			t.Errorf("a bundle of class %q on %q: %q", tt.bundle, tt.device, got)
		}
	}
}
