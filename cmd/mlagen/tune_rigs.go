package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mla/gen"
	"mla/gen/spec"
	"mla/gen/synth"
	"mla/gen/tune"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
)

// rig is a model that is measured.
type rig struct {
	spec *spec.Spec // the variant with one type of activations and the file's quant profile only
	path string     // path of the model file; empty until make writes one with random weights
}

// rigs returns the models that the flags name, once for each type of activations.
func (t *tuneFlags) rigs(s *spec.Spec) ([]*rig, error) {
	quants, err := t.profiles(s)
	if err != nil {
		return nil, err
	}
	acts := t.acts
	if acts == nil {
		acts = s.AllActivations()
	}
	var variants []*spec.Spec
	for _, act := range acts {
		variants = append(variants, s.WithActivations(act))
	}
	var rigs []*rig
	for _, q := range quants {
		for _, v := range variants {
			one := *v
			one.Quants = []spec.Quant{q}
			r := &rig{&one, t.model}
			if r.path == "" && q.Types == nil { // a profile with types by layer needs all layers
				r.spec = tune.Short(r.spec)
			}
			rigs = append(rigs, r)
		}
	}
	return rigs, nil
}

// profiles returns the quant profiles that are measured.
func (t *tuneFlags) profiles(s *spec.Spec) ([]spec.Quant, error) {
	if t.model != "" {
		q, err := profileOf(t.model, s)
		return []spec.Quant{q}, err
	}
	var quants []spec.Quant
	for _, name := range t.quants {
		q, err := findQuant(s, name)
		if err != nil {
			return nil, fmt.Errorf("%w: -quant: %v", errUsage, err)
		}
		quants = append(quants, q)
	}
	return quants, nil
}

// findQuant returns the profile of that name from the spec, or the predefined one.
func findQuant(s *spec.Spec, name string) (spec.Quant, error) {
	i := slices.IndexFunc(s.Quants, func(q spec.Quant) bool { return strings.EqualFold(q.Name, name) })
	if i >= 0 {
		return s.Quants[i], nil
	}
	return spec.ParseQuant(name)
}

// profileOf returns the profile of s that matches the types in a model file.
func profileOf(path string, s *spec.Spec) (q spec.Quant, err error) {
	b, err := gen.Compile(s, nil)
	if err != nil {
		return q, err
	}
	f, err := gguf.Open(path)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := bind.Resolve(f)
	if bad := r.Fit(b); len(bad) > 0 {
		return q, &bind.FitError{File: path, Bundle: b.Name, Mismatches: bad, Asked: true}
	}
	i := slices.IndexFunc(s.Quants, func(q spec.Quant) bool { return q.Name == r.Profile(b) })
	if i < 0 {
		return q, fmt.Errorf("%s has the types of no single quant profile of %s; mlagen init -gguf %s makes a spec that has one", path, s.Path, path)
	}
	return s.Quants[i], nil
}

// make writes a model file with random weights into dir, if the rig has no file. n makes the file's name
// unique.
func (r *rig) make(ctx context.Context, dir string, n int) error {
	if r.path != "" {
		return nil
	}
	r.path = filepath.Join(dir, fmt.Sprintf("model%d.gguf", n))
	return synth.Write(ctx, r.spec, r.spec.Quants[0].Name, r.path, 1)
}
