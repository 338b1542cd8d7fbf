package main

import (
	"flag"
	"slices"
	"strings"

	"mla/runtime/engine/opening"
	"mla/runtime/plan"
)

// option holds a flag's alternative names and its place in the help. Its usage is given where it is declared.
type option struct {
	name    string
	group   string
	aliases string // names of the flag in other programs, separated by spaces
	env     string // variable that sets the flag if it is not given; "": none
	values  string // values that shells offer, separated by spaces
	in      string // the only command to which the row applies; "": all commands with the flag
}

// The groups of flags, in the order of the help.
const (
	groupFirst    = "The flags that most people need"
	groupText     = "The text"
	groupChat     = "Chats"
	groupModel    = "The model"
	groupSampling = "How tokens are picked"
	groupServer   = "The server"
	groupCommand  = "What is done"
	groupOutput   = "What is printed"
	groupDevice   = "Where it runs"
	groupOther    = "Other flags" // flags without a row in options
)

var groups = []string{groupCommand, groupText, groupChat, groupModel, groupSampling, groupServer, groupOutput, groupDevice, groupOther}

// first are the flags that help lists before all others, in this order.
var first = []string{"model", "hf", "p", "f", "sys", "chat", "raw", "n", "c", "temp", "top-p", "top-k", "min-p", "seed", "think", "json-schema", "parallel", "draft", "device", "kv", "host", "port", "api-key", "models", "quiet"}

// options has a row for every flag. If a name has several rows, the first one that applies to the command
// counts.
var options = []option{
	{name: "c", in: "mlarun perplexity", group: groupText, aliases: "ctx-size"},
	{name: "n", in: "mlarun bench", group: groupCommand, aliases: "n-gen"},
	{name: "n", in: "mlarun doctor", group: groupCommand},
	{name: "n", in: "mlarun greedy", group: groupText, aliases: "predict n-predict"},
	{name: "o", in: "mlarun bench", group: groupOutput, values: strings.Join(formatNames(), " "), aliases: "output"},
	{name: "p", in: "mlarun bench", group: groupCommand, aliases: "n-prompt"},
	{name: "parallel", in: "mlarun serve", group: groupServer, aliases: "np"},
	{name: "v", in: "mlarun doctor", group: groupOutput, aliases: "verbose"},
	{name: "tokens", in: "mlarun detokenize", group: groupText},

	{name: "p", group: groupText, aliases: "prompt"},
	{name: "f", group: groupText, aliases: "file"},
	{name: "n", group: groupText, aliases: "predict n-predict", env: "MLA_PREDICT"},
	{name: "parallel", group: groupText, aliases: "np"},
	{name: "special", group: groupText, aliases: "sp"},
	{name: "bos", group: groupText},
	{name: "tokens", group: groupText},
	{name: "chunks", group: groupText},
	{name: "prompt-cache", group: groupText, env: "MLA_PROMPT_CACHE"},
	{name: "draft", group: groupText, values: opening.Ngram + " " + opening.MTP, env: "MLA_DRAFT"},
	{name: "draft-model", group: groupText, aliases: "md model-draft", env: "MLA_DRAFT_MODEL"},

	{name: "chat", group: groupChat, aliases: "cnv conversation"},
	{name: "raw", group: groupText, aliases: "no-cnv no-conversation"},
	{name: "sys", group: groupChat, aliases: "system-prompt"},
	{name: "think", group: groupChat, values: "on off show hide", aliases: "reasoning", env: "MLA_THINK"},
	{name: "reasoning", group: groupChat, aliases: "rea", env: "MLA_REASONING"},
	{name: "reasoning-budget", group: groupChat, env: "MLA_REASONING_BUDGET"},
	{name: "chat-template-kwargs", group: groupChat, env: "MLA_CHAT_TEMPLATE_KWARGS"},
	{name: "chat-template", group: groupChat, aliases: "chat-template-file", env: "MLA_CHAT_TEMPLATE"},

	{name: "history", group: groupChat, env: "MLA_HISTORY"},

	{name: "model", group: groupModel, aliases: "m", env: "MLA_MODEL"},
	{name: "hf", group: groupModel, env: "MLA_HF"},
	{name: "pre", group: groupModel, env: "MLA_PRE"},
	{name: "c", group: groupModel, aliases: "ctx-size", env: "MLA_CTX_SIZE"},
	{name: "kv", group: groupModel, values: "f16 f32 q8_0", aliases: "ctk cache-type-k", env: "MLA_KV"},
	{name: "act", group: groupModel, values: strings.Join(plan.ActNames, " ") + " " + actInt8, env: "MLA_ACT"},
	{name: "bundle", group: groupModel, env: "MLA_BUNDLE"},
	{name: "cache-ram", group: groupModel, aliases: "cram", env: "MLA_CACHE_RAM"},
	{name: "force", group: groupModel},

	{name: "temp", group: groupSampling, aliases: "temperature", env: "MLA_TEMP"},
	{name: "top-k", group: groupSampling, env: "MLA_TOP_K"},
	{name: "top-p", group: groupSampling, env: "MLA_TOP_P"},
	{name: "min-p", group: groupSampling, env: "MLA_MIN_P"},
	{name: "repeat-penalty", group: groupSampling, env: "MLA_REPEAT_PENALTY"},
	{name: "repeat-last-n", group: groupSampling, env: "MLA_REPEAT_LAST_N"},
	{name: "presence-penalty", group: groupSampling, env: "MLA_PRESENCE_PENALTY"},
	{name: "frequency-penalty", group: groupSampling, env: "MLA_FREQUENCY_PENALTY"},
	{name: "typical", group: groupSampling, aliases: "typical-p"},
	{name: "top-nsigma", group: groupSampling, aliases: "top-n-sigma"},
	{name: "xtc-probability", group: groupSampling},
	{name: "xtc-threshold", group: groupSampling},
	{name: "dynatemp-range", group: groupSampling},
	{name: "dynatemp-exp", group: groupSampling},
	{name: "dry-multiplier", group: groupSampling},
	{name: "dry-base", group: groupSampling},
	{name: "dry-allowed-length", group: groupSampling},
	{name: "dry-penalty-last-n", group: groupSampling},
	{name: "dry-sequence-breaker", group: groupSampling},
	{name: "mirostat", group: groupSampling, values: "1 2"},
	{name: "mirostat-lr", group: groupSampling},
	{name: "mirostat-ent", group: groupSampling},
	{name: "samplers", group: groupSampling},
	{name: "sampler-seq", group: groupSampling, aliases: "sampling-seq"},
	{name: "logit-bias", group: groupSampling, aliases: "l"},
	{name: "ignore-eos", group: groupSampling},
	{name: "seed", group: groupSampling, aliases: "s", env: "MLA_SEED"},
	{name: "stop", group: groupSampling, aliases: "reverse-prompt"},
	{name: "grammar", group: groupSampling, aliases: "grammar-file"},
	{name: "json-schema", group: groupSampling, aliases: "j json-schema-file jf"},

	{name: "host", group: groupServer, env: "MLA_HOST"},
	{name: "port", group: groupServer, env: "MLA_PORT"},
	{name: "api-key", group: groupServer, env: "MLA_API_KEY"},
	{name: "alias", group: groupServer, aliases: "a", env: "MLA_ALIAS"},
	{name: "allow-host", group: groupServer},
	{name: "cors-origin", group: groupServer},
	{name: "models", group: groupServer, aliases: "models-dir"},
	{name: "models-memory", group: groupServer},
	{name: "models-idle", group: groupServer},
	{name: "nats", group: groupServer, env: "MLA_NATS"},
	{name: "nats-creds", group: groupServer, env: "MLA_NATS_CREDS"},
	{name: "queue", group: groupServer},
	{name: "prompt-rows", group: groupServer},
	{name: "prompt-cache-dir", group: groupServer, env: "MLA_PROMPT_CACHE_DIR"},
	{name: "timeout", group: groupServer},
	{name: "drain", group: groupServer},
	{name: "device-retries", group: groupServer},
	{name: "device-stuck", group: groupServer},
	{name: "max-body", group: groupServer},
	{name: "max-connections", group: groupServer},
	{name: "log-json", group: groupServer},
	{name: "log-prompts", group: groupServer},

	{name: "d", group: groupCommand, aliases: "n-depth"},
	{name: "batch", group: groupCommand},
	{name: "r", group: groupCommand, aliases: "repetitions"},
	{name: "empty", group: groupCommand},
	{name: "kernels", group: groupCommand},
	{name: "stress", group: groupCommand},
	{name: "schedule", group: groupCommand},
	{name: "t", group: groupCommand},
	{name: "limit", group: groupCommand},
	{name: "stage", group: groupCommand},
	{name: "save-logits", group: groupCommand},
	{name: "compare", group: groupCommand},

	{name: "o", group: groupOutput, aliases: "output"},
	{name: "report", group: groupOutput},
	{name: "quiet", group: groupOutput, aliases: "q"},
	{name: "v", group: groupOutput, aliases: "verbose"},
	{name: "version", group: groupOutput},

	{name: "device", group: groupDevice, values: autoDevice + " " + strings.Join(autoDevices, " "), aliases: "dev", env: "MLA_DEVICE"},
	{name: "threads", group: groupDevice, aliases: "t", env: "MLA_THREADS"},
	{name: "ahead", group: groupDevice, env: "MLA_AHEAD"},
	{name: "width", group: groupDevice, env: "MLA_WIDTH"},
	{name: "deterministic", group: groupDevice},
	{name: "replay", group: groupDevice, values: "auto icb encode", env: "MLA_REPLAY"},
	{name: "simd", group: groupDevice, values: "avx512 avx2 neon go", env: "MLA_SIMD"},
	{name: "metallib", group: groupDevice, env: "MLA_METALLIB"},
	{name: "metal-lib", group: groupDevice, env: "MLA_METAL_LIB"},
	{name: "cuda-lib", group: groupDevice, env: "MLA_CUDA_LIB"},
}

// optionOf returns the row of a flag of a command; nil if there is none.
func optionOf(command, name string) *option {
	i := slices.IndexFunc(options, func(o option) bool { return o.name == name && (o.in == "" || o.in == command) })
	if i < 0 {
		return nil
	}
	return &options[i]
}

// addAliases declares the alternative names of all flags, except where a command has a flag with that name.
// An alias shares the flag's value.
func (f *flags) addAliases() {
	if f.named != nil {
		return
	}
	f.named = map[string]string{}
	var own []*flag.Flag
	f.VisitAll(func(fl *flag.Flag) { own = append(own, fl) })
	for _, fl := range own {
		o := optionOf(f.Name(), fl.Name)
		if o == nil {
			continue
		}
		for _, alias := range strings.Fields(o.aliases) {
			if f.Lookup(alias) == nil {
				f.Var(fl.Value, alias, "")
				f.named[alias] = fl.Name
			}
		}
	}
}

// own returns the name under which a flag is declared.
func (f *flags) own(name string) string {
	if own, ok := f.named[name]; ok {
		return own
	}
	return name
}

// given says whether a flag is set on the command line, or by a variable that counts.
func (f *flags) given(name string) bool {
	found := false
	f.Visit(func(fl *flag.Flag) { found = found || f.own(fl.Name) == name })
	return found
}

// readVariables sets flags that are not given from the environment.
func (f *flags) readVariables() (err error) {
	f.VisitAll(func(fl *flag.Flag) {
		o := optionOf(f.Name(), fl.Name)
		if err != nil || o == nil || o.env == "" || f.named[fl.Name] != "" || f.given(fl.Name) {
			return
		}
		value := f.env.variable(o.env)
		if value == "" {
			return
		}
		if e := f.Set(fl.Name, value); e != nil {
			err = f.wrong("%s is %q: %v", o.env, value, e)
		}
	})
	return err
}
