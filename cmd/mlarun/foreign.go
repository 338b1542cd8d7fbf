package main

import (
	"flag"
	"slices"
	"strings"

	"mla/runtime/system/nearest"
)

// foreign is a flag of other programs that this program does not have.
type foreign struct {
	names string // separated by spaces
	value value  // whether a value follows the flag on a command line
	// why describes this program's behaviour instead.
	why string
}

// value says whether a value follows a flag.
type value int

const (
	none     value = iota
	one            // always a value
	optional       // one of choices, or no value
)

// choices are the values of flags whose value is optional.
var choices = []string{"on", "off", "auto", "true", "false", "0", "1"}

// ignored are flags of llama.cpp that do not change the text. They are accepted, and a note says why they
// have no effect.
var ignored = []foreign{
	{"ngl gpu-layers n-gpu-layers", one, "a model runs on one device, all of it: -device"},
	{"sm split-mode ts tensor-split mg main-gpu", one, "a model runs on one device"},
	{"ncmoe n-cpu-moe ot override-tensor", one, "a model runs on one device, all of it: -device"},
	{"cmoe cpu-moe nkvo no-kv-offload", none, "a model runs on one device, all of it: -device"},
	{"fa flash-attn", optional, "attention is always done in pieces that need no square matrix"},
	{"b batch-size ub ubatch-size", one, "-width says how many tokens of a prompt run in one batch"},
	{"mlock no-mmap mmap dio direct-io no-repack", none, "files are always mapped"},
	{"ctv cache-type-v", one, "keys and values are one latent vector: -kv is for both"},
	{"no-display-prompt no-warmup simple-io no-perf log-disable swa-full", none, "that is always so"},
	{"co color", optional, "colours follow the terminal and NO_COLOR"},
	{"jinja", none, "the template of the file is always used; -chat-template FILE takes another"},
	{"numa", one, "the system places memory"},
	{"tb threads-batch", one, "-threads is for prompts too"},
	{"prio prio-batch poll poll-batch C cpu-mask Cb cpu-mask-batch", one, "the system schedules threads"},
	{"fit", optional, "the memory estimate is always looked at; -force runs in spite of it"},
	{"check-tensors", none, "mlarun doctor -model F checks a model"},
	{"cb cont-batching slots metrics props webui kv-unified kvu", none, "the server always does so"},
	{"threads-http", one, "the server needs no such number"},
}

// refused are flags of llama.cpp that would change the text, or that need an unsupported feature.
var refused = []foreign{
	{"e escape", none, "a shell's $'…\\n' writes line breaks, and so does -f FILE"},
	{"i interactive i-first interactive-first", none, "-chat talks"},
	{"lora lora-scaled", one, "llama-export-lora of llama.cpp makes one model of a base and an adapter, which runs here"},
	{"mmproj mmproj-url", one, "this program reads text alone"},
	{"md model-draft", one, "-draft needs it; this command drafts nothing"},
	{"control-vector control-vector-scaled", one, "this program does not apply control vectors"},
	{"override-kv", one, "of a file's keys, -pre NAME replaces tokenizer.ggml.pre"},
	{"rope-scaling rope-scale rope-freq-base rope-freq-scale yarn-orig-ctx yarn-ext-factor yarn-attn-factor yarn-beta-slow yarn-beta-fast", one, "rotary angles are as the file has them"},
	{"keep context-shift", one, "a text ends where the context is full: -c makes it longer"},
	{"embedding embeddings rerank reranking pooling", none, "this program writes text and makes no embeddings"},
}

// undefined returns the name of the undefined flag that a parsing error reports.
func undefined(err error) (name string, ok bool) {
	name, ok = strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	return strings.TrimLeft(name, "-"), ok
}

// byName looks up a flag of a table.
func byName(table []foreign, name string) (foreign, bool) {
	i := slices.IndexFunc(table, func(o foreign) bool { return slices.Contains(strings.Fields(o.names), name) })
	if i < 0 {
		return foreign{}, false
	}
	return table[i], true
}

// skip skips an ignored flag, which last holds as it was given. args are the arguments that follow the flag,
// and rest the arguments after the flag's value.
func (f *flags) skip(err error, last string, args []string) (rest []string, ok bool) {
	name, ok := undefined(err)
	if !ok {
		return nil, false
	}
	o, ok := byName(ignored, name)
	if !ok {
		return nil, false
	}
	f.ignored = append(f.ignored, "-"+name+" is ignored: "+o.why)
	joined := strings.Contains(last, "=") // the form -name=value
	switch {
	case joined || len(args) == 0 || o.value == none:
	case o.value == one, slices.Contains(choices, args[0]):
		args = args[1:]
	}
	return args, true
}

// unknown explains an error about an undefined flag.
func (f *flags) unknown(err error) string {
	name, ok := undefined(err)
	if !ok {
		return err.Error()
	}
	if o, ok := byName(refused, name); ok {
		return "there is no -" + name + ": " + o.why
	}
	text := "there is no flag -" + name
	var names []string
	f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
	if near := nearest.Of(name, names); near != "" {
		text += "; did you mean -" + near + "?"
	}
	return text
}
