package main

import (
	"encoding/json"

	"mla/runtime/serve/server"
)

// reasoningFlags holds the flags about the thinking of a served model, for clients that cannot request it.
type reasoningFlags struct {
	on     string // on, off or auto
	budget int    // in tokens; -1: unlimited
	kwargs string // a JSON object
}

func (r *reasoningFlags) add(f *flags) {
	f.StringVar(&r.on, "reasoning", "auto", "`whether` the model thinks if a request does not say: on, off, or auto: as the chat template has it")
	f.IntVar(&r.budget, "reasoning-budget", -1, "`tokens` that thoughts may take if a request does not say; -1: any number")
	f.StringVar(&r.kwargs, "chat-template-kwargs", "", "`JSON object` of values that the chat template sees by name, unless a request gives others")
}

// read checks the flags.
func (r *reasoningFlags) read(f *flags) (out server.Reasoning, err error) {
	on := r.on == "on"
	switch r.on {
	case "on", "off":
		out.On = &on
	case "auto":
	default:
		return out, f.wrong("-reasoning is %q; expected on, off or auto", r.on)
	}
	if r.budget < -1 {
		return out, f.wrong("-reasoning-budget is %d; expected 0 or more, or -1 for any number", r.budget)
	}
	if r.budget >= 0 {
		out.Budget = &r.budget
	}
	if r.kwargs != "" && (json.Unmarshal([]byte(r.kwargs), &out.Variables) != nil || out.Variables == nil) {
		return out, f.wrong(`-chat-template-kwargs is %q; expected a JSON object, as in {"enable_thinking": false}`, r.kwargs)
	}
	return out, nil
}
