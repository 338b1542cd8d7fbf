package main

import (
	"fmt"
	"strings"

	"mla/runtime/engine"
	"mla/runtime/system/userfile"
	"mla/runtime/text/chat"
	"mla/runtime/text/tokenizer"
)

// templateFlag adds -chat-template.
func (f *flags) templateFlag(path *string) {
	f.StringVar(path, "chat-template", "", "`file` with a chat template (Jinja) to use in place of the model file's")
}

// chatFormat returns the chat format of a model file: that of a template file if path is not empty, else that
// of the model's own template, else that of its bundle's spec.
func chatFormat(eng *engine.Engine, t *tokenizer.Tokenizer, path string) (chat.Renderer, error) {
	template := t.ChatTemplate()
	if path != "" {
		file, err := userfile.OpenPiped(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if template, err = readText(path, file); err != nil {
			return nil, err
		}
		if strings.TrimSpace(template) == "" { // also a pipe without a writer
			return nil, fmt.Errorf("%s is empty; expected a chat template (Jinja)", path)
		}
	}
	return chat.For(template, chat.Hints{Name: eng.Bundle().Model.ChatTemplate, BOS: t.TokenText(t.BOS()), EOS: t.TokenText(t.EOS()), Escape: t.Escape})
}
