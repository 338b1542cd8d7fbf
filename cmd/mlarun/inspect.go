package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/plan"
)

// inspect prints the contents of a file's header and the bundle that runs it.
func inspect(e *env, args []string) (err error) {
	f := newFlags(e, "mlarun inspect", "F [-bundle NAME]")
	f.StringVar(&f.bundle, "bundle", "", "list what does not fit the bundle of this `name`, or those of a bundle file")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if f.model != "" && len(rest) == 0 {
		rest = append(rest, f.model)
	}
	if len(rest) != 1 {
		return f.wrong("expected one model file, got %d", len(rest))
	}
	f.model, f.looking = rest[0], true
	file, err := f.openModel()
	if err != nil {
		return err
	}
	defer closing(file, &err)
	w := bufio.NewWriter(e.out)
	printHeader(w, file)
	bundles, err := f.finder().For(file.Path, f.bundle)
	if err != nil {
		return err
	}
	printTensors(w, file, bundles)
	if err := f.printFit(w, bind.Resolve(file), bundles); err != nil {
		return err
	}
	return w.Flush()
}

// printHeader lists the metadata.
func printHeader(w io.Writer, f *gguf.File) {
	var size int64
	for i := range f.Shards {
		size += int64(len(f.Shards[i].Data))
	}
	fmt.Fprintf(w, "%s: GGUF version %d, %s in %d file(s), %d tensors\n\nMetadata\n", f.Path, f.Version, engine.Size(size), len(f.Shards), len(f.Tensors))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, kv := range f.Meta {
		fmt.Fprintf(table, "  %s\t%s\n", kv.Key, shortened(kv.Value.String()))
	}
	_ = table.Flush() // w keeps its first error
}

// shortened cuts a long value, such as a chat template.
func shortened(s string) string {
	const most = 96
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

var blockName = regexp.MustCompile(`^blk\.(\d+)\.`)

// group is a tensor and its counterparts in the other layers.
type group struct {
	name, role string
	kinds      []kind
}

// kind is a shape and type, with the layers that have it.
type kind struct {
	what   string
	layers []int
}

// printTensors lists the tensors by role, with types and layers.
func printTensors(w io.Writer, f *gguf.File, bundles []*plan.Bundle) {
	roles := roleNames(bundles)
	var groups []*group
	for i := range f.Tensors {
		t := &f.Tensors[i]
		name, layer := t.Name, -1
		if m := blockName.FindStringSubmatch(name); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				layer, name = n, "blk.%d."+strings.TrimPrefix(name, m[0])
			}
		}
		at := slices.IndexFunc(groups, func(g *group) bool { return g.name == name })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{name: name, role: roles[name]})
		}
		groups[at].add(strings.ToUpper(t.Type.String())+" "+fmt.Sprint(t.Dims), layer)
	}
	fmt.Fprint(w, "\nTensors\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, g := range groups {
		for _, k := range g.kinds {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", g.role, strings.ReplaceAll(g.name, "%d", "N"), k.what, ranges(k.layers))
		}
	}
	_ = table.Flush()
}

func (g *group) add(what string, layer int) {
	at := slices.IndexFunc(g.kinds, func(k kind) bool { return k.what == what })
	if at < 0 {
		at = len(g.kinds)
		g.kinds = append(g.kinds, kind{what: what})
	}
	if layer >= 0 {
		g.kinds[at].layers = append(g.kinds[at].layers, layer)
	}
}

// roleNames maps GGUF names to roles by the bundles' weight tables.
func roleNames(bundles []*plan.Bundle) map[string]string {
	roles := map[string]string{}
	for _, b := range bundles {
		for i := range b.Weights {
			roles[b.Weights[i].GGUF] = b.Weights[i].Role
		}
	}
	return roles
}

// ranges formats layers as "layers 0-3,6"; "" for no layers.
func ranges(layers []int) string {
	if len(layers) == 0 {
		return ""
	}
	layers = slices.Sorted(slices.Values(layers))
	var parts []string
	for i := 0; i < len(layers); {
		j := i
		for j+1 < len(layers) && layers[j+1] == layers[j]+1 {
			j++
		}
		part := strconv.Itoa(layers[i])
		if j > i {
			part += "-" + strconv.Itoa(layers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if len(layers) == 1 {
		return "layer " + parts[0]
	}
	return "layers " + strings.Join(parts, ",")
}

// printFit prints which bundles fit. If none does, or the requested one does not, it lists the differences.
func (f *flags) printFit(w io.Writer, file *bind.Resolved, bundles []*plan.Bundle) error {
	fmt.Fprint(w, "\nBundles\n")
	// No bundle can be made for a file without the parameters of an MLA model.
	if err := file.Runnable(); err != nil {
		fmt.Fprintf(w, "  none can fit: %v\n", err)
		return nil
	}
	var others []string
	for _, b := range bundles {
		if len(file.Fit(b)) > 0 {
			others = append(others, b.Name)
			continue
		}
		profile := "with a mix of types that no quant profile has"
		if name := file.Profile(b); name != "" {
			profile = "quant profile " + name
		}
		fmt.Fprintf(w, "  %s%s (%s) fits, %s\n", b.Name, f.from(b), b.Kind(), profile)
	}
	uses, err := f.chosen(file)
	var misfit *bind.FitError
	switch {
	case errors.As(err, &misfit):
		if misfit.Bundle != "" {
			fmt.Fprintf(w, "  %s does not fit:\n", misfit.Bundle)
		}
		for _, m := range misfit.Mismatches {
			fmt.Fprintf(w, "    %s\n", m)
		}
		how := "which mlarun does by itself when it runs the file"
		if f.env.maker == nil || f.env.maker.Compiler == "" {
			how = "mlarun does that by itself where mlagen lies beside it, or in a folder of PATH"
		}
		fmt.Fprintf(w, "To make a bundle for this file: %s (%s)\n", bind.Command(file.File.Path, misfit.Act), how)
		return nil
	case err != nil:
		return err
	}
	if len(others) > 0 {
		fmt.Fprintf(w, "  do not fit, -bundle NAME says why: %s\n", strings.Join(others, ", "))
	}
	_, err = io.WriteString(w, uses)
	return err
}

// chosen returns which bundles mlarun uses, and the flag for each: the requested one, or one for each kind of
// activations, and those for the classes of devices that have their own bundles.
func (f *flags) chosen(file *bind.Resolved) (string, error) {
	if asked := f.bundle; asked != "" {
		b, err := f.finder().Choose(file.File.Path, file, bind.Wish{Bundle: asked})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("mlarun uses %s with -bundle %s.\n", b.Name, asked), nil
	}
	text := ""
	for i, act := range plan.ActNames {
		b, err := f.finder().Choose(file.File.Path, file, bind.Wish{Act: act})
		var other *bind.ActError
		switch {
		case errors.As(err, &other):
			continue
		case err != nil:
			return "", err
		case i == 0:
			text += fmt.Sprintf("mlarun uses %s%s", b.Name, f.from(b))
		default:
			text += fmt.Sprintf("On a GPU, or with -act %s, it uses %s%s", act, b.Name, f.from(b))
		}
		for _, class := range plan.Classes {
			if own, err := f.finder().Choose(file.File.Path, file, bind.Wish{Act: act, Class: class}); err == nil && own != b {
				text += fmt.Sprintf(", on %s %s", class, own.Name)
			}
		}
		text += ".\n"
	}
	return text, nil
}
