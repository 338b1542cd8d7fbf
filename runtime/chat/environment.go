package chat

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nikolalohinski/gonja/v2/builtins"
	structures "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// statements are the blocks that chat templates use. Those that read other
// templates, and call, which recurses, are left out.
var statements = []string{"for", "if", "set", "with", "raw", "filter", "do", "break", "continue"}

// filterNames are the filters that templates may use: the engine's without those
// that make texts of any length, such as center.
var filterNames = []string{
	"abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "groupby", "int",
	"join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace",
	"reverse", "round", "safe", "select", "selectattr", "sort", "string", "sum", "title", "trim", "unique", "upper",
}

// environment is the engine's with Hugging Face's additions and our limits.
func environment() *exec.Environment {
	blocks := map[string]parser.ControlStructureParser{
		"macro": parseMacro,
		"for":   parseFor,
	}
	for _, name := range statements {
		if blocks[name] == nil {
			blocks[name], _ = structures.All.Get(name)
		}
	}
	filters := map[string]exec.FilterFunction{"tojson": toJSON, "items": itemsFilter}
	for _, name := range filterNames {
		filters[name], _ = builtins.Filters.Get(name)
	}
	namespace, _ := builtins.GlobalFunctions.Get("namespace")
	dict, _ := builtins.GlobalFunctions.Get("dict")
	return &exec.Environment{
		Context: exec.NewContext(map[string]any{
			"namespace":       namespace,
			"dict":            dict,
			"range":           numbers,
			"raise_exception": raise,
			"strftime_now":    now,
		}),
		Filters:           exec.NewFilterSet(filters),
		Tests:             builtins.Tests,
		ControlStructures: exec.NewControlStructureSet(blocks),
		Methods:           methods(),
	}
}

// itemsFilter is the filter that lists an object's members.
func itemsFilter(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	return exec.AsValue(items(in))
}

// raise is raise_exception(message).
func raise(_ *exec.Evaluator, args *exec.VarArgs) (any, error) {
	message := "raise_exception without a message"
	if len(args.Args) > 0 {
		message = args.Args[0].String()
	}
	return nil, errors.New(message)
}

// numbers is range([start,] stop[, step]).
func numbers(_ *exec.Evaluator, args *exec.VarArgs) (any, error) {
	for _, a := range args.Args {
		if !a.IsInteger() {
			return nil, fmt.Errorf("range(%s): expected integers", a.String())
		}
	}
	start, stop, step := 0, 0, 1
	switch a := args.Args; len(a) {
	case 1:
		stop = a[0].Integer()
	case 2:
		start, stop = a[0].Integer(), a[1].Integer()
	case 3:
		start, stop, step = a[0].Integer(), a[1].Integer(), a[2].Integer()
	default:
		return nil, fmt.Errorf("range takes 1 to 3 numbers, not %d", len(a))
	}
	if step == 0 {
		return nil, fmt.Errorf("range with step 0")
	}
	list := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxRange {
			return nil, fmt.Errorf("range has more than %d numbers", maxRange)
		}
		list = append(list, i)
	}
	return list, nil
}

// parseFor is the engine's for loop without `recursive`, which has no limit.
func parseFor(p, args *parser.Parser) (nodes.ControlStructure, error) {
	parse, _ := structures.All.Get("for")
	loop, err := parse(p, args)
	if err != nil {
		return nil, err
	}
	if f, ok := loop.(*structures.ForControlStructure); ok && f.Recursive {
		return nil, fmt.Errorf("recursive for loops are not supported")
	}
	return loop, nil
}

// depthKey is the variable that counts nested macro calls; templates cannot name it.
const depthKey = "macro depth"

// macro is the engine's with a limit on recursion.
type macro struct {
	*structures.MacroControlStructure
}

func parseMacro(p, args *parser.Parser) (nodes.ControlStructure, error) {
	parse, _ := structures.All.Get("macro")
	parsed, err := parse(p, args)
	if err != nil {
		return nil, err
	}
	inner, ok := parsed.(*structures.MacroControlStructure)
	if !ok {
		return nil, fmt.Errorf("macro parsed as %T", parsed)
	}
	return macro{inner}, nil
}

// Execute defines the macro.
func (m macro) Execute(r *exec.Renderer, tag *nodes.ControlStructureBlock) error {
	if err := m.MacroControlStructure.Execute(r, tag); err != nil {
		return err
	}
	context := r.Environment.Context
	defined, _ := context.Get(m.Name)
	call, ok := defined.(exec.Macro)
	counter, _ := context.Get(depthKey)
	depth, okDepth := counter.(*atomic.Int32)
	if !ok || !okDepth {
		return fmt.Errorf("macro %s is defined as %T", m.Name, defined)
	}
	context.Set(m.Name, exec.Macro(func(args *exec.VarArgs) *exec.Value {
		defer depth.Add(-1)
		if depth.Add(1) > maxDepth {
			return exec.AsValue(fmt.Errorf("macro %s: more than %d nested calls", m.Name, maxDepth))
		}
		return call(args)
	}))
	return nil
}
