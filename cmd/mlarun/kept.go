package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"mla/runtime/engine"
	"mla/runtime/load/hub"
)

// keptModel is a line of `mlarun list`.
type keptModel struct {
	Name     string    `json:"name"` // the value for -hf
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	Path     string    `json:"path"`
}

// listModels prints the models of the hub in the cache.
func listModels(e *env, args []string) error {
	f := newFlags(e, "mlarun list", "[-o text|json]")
	format := f.String("o", "text", "output `format`: text or json")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("unexpected argument %q", rest[0])
	case *format != "text" && *format != "json":
		return f.wrong("-o is %q; expected text or json", *format)
	}
	client, err := hub.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	kept, err := client.Kept()
	if err != nil {
		return err
	}
	list := []keptModel{}
	for _, k := range kept {
		list = append(list, keptModel{k.Ref.Named(), k.Bytes, k.When.UTC(), k.Path})
	}
	if *format == "json" {
		return writeJSON(e.out, "", list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(e.out, "There are no models in %s; mlarun -hf USER/REPO loads one.\n", client.Cache)
		return err
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, engine.Size(m.Bytes), m.Modified.Format(time.DateOnly))
	}
	return w.Flush()
}

// removeModels removes models of the hub from the cache.
func removeModels(e *env, args []string) error {
	f := newFlags(e, "mlarun rm", "USER/REPO[:QUANT] ...")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return f.wrong("no model is named; mlarun list says what there is")
	}
	var refs []hub.Ref
	for _, arg := range rest {
		r, err := hub.Parse(arg)
		if err != nil {
			return f.wrong("%v", err)
		}
		refs = append(refs, r)
	}
	client, err := hub.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	client.Note = func(line string) { f.note("%s\n", line) }
	ctx, stop := interruptible()
	defer stop()
	for _, r := range refs {
		freed, err := client.Remove(ctx, r)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.out, "removed %s, %s\n", r.Named(), engine.Size(freed)); err != nil {
			return err
		}
	}
	return nil
}

// version prints the version and the compiled bundles.
func version(e *env, args []string) error {
	f := newFlags(e, "mlarun version", "")
	rest, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return f.wrong("unexpected argument %q", rest[0])
	}
	return printVersion(e)
}
