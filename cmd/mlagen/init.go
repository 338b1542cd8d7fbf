package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mla/gen/initspec"
	"mla/gen/spec"
	"mla/runtime/plan/bundlefile"
)

func newInit() *cobra.Command {
	var model, pre, out, act string
	var force bool
	c := command("init -gguf F -o specs/x.yaml", "make a spec from a GGUF file's header", func(stdout, _ io.Writer) error {
		activations, err := actList(act)
		if err != nil {
			return err
		}
		path, err := localModel(model)
		if err != nil {
			return err
		}
		file, err := openModel(path, pre)
		if err != nil {
			return err
		}
		if err := errors.Join(initspec.Write(file, out, force, activations...), file.Close()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "wrote %s; compile it with: %s\n", out, compileCommand(out))
		return err
	}, "gguf", "output")
	c.Long = "Writes a spec to edit: the dimensions of a model, and the types that its tensors have."
	c.Flags().StringVar(&model, "gguf", "", "the model `file`; of a split one the first; or hf://user/repo[:QUANT], of the Hugging Face hub")
	preFlag(c.Flags(), &pre)
	c.Flags().StringVarP(&out, "output", "o", "", "the spec to write, a `file`")
	c.Flags().StringVar(&act, "act", "", "`types` of activations that the spec asks for: f32, f16, or both with a comma")
	c.Flags().BoolVarP(&force, "force", "f", false, "replace a spec that is there")
	return c
}

// compileCommand returns the command that compiles a new spec: to generated/ if the spec lies in the
// project's specs/, otherwise to a bundle file beside the spec.
func compileCommand(path string) string {
	if root, err := moduleRoot(); err == nil {
		if whole, err := filepath.Abs(path); err == nil && filepath.Dir(whole) == filepath.Join(root, "specs") {
			return "go run ./cmd/mlagen -spec " + path
		}
	}
	return "mlagen -spec " + path + " -o " + strings.TrimSuffix(path, filepath.Ext(path)) + bundlefile.Suffix
}

// actList reads a list of types of activations, separated by commas. Repeated names are errors.
func actList(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for i, act := range list {
		if !slices.Contains(spec.Activations, act) || slices.Contains(list[:i], act) {
			return nil, fmt.Errorf("%w: -act is %q; expected %s, or both separated by a comma", errUsage, text, strings.Join(spec.Activations, ", "))
		}
	}
	return list, nil
}
