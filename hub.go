package mla

import (
	"context"
	"fmt"
	"os"

	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/hub"
)

// fetch is the path of a model file. A model of the Hugging Face hub is in its cache, or comes
// there.
func (o *Options) fetch(ctx context.Context, name string) (string, error) {
	r, ok, err := hub.Named(name)
	if err != nil || !ok {
		return name, err
	}
	client, err := hub.FromEnv(os.Getenv)
	if err != nil {
		return "", err
	}
	client.Look = o.look
	client.Progress = tell[int64](o.Progress, Downloading)
	client.Note = func(line string) { o.note("%s", line) }
	return client.Model(ctx, r)
}

// look refuses a model before it is downloaded that would be refused afterwards.
func (o *Options) look(header *gguf.File, bytes int64) error {
	if err := bind.Resolve(header).Runnable(); err != nil {
		return err
	}
	if available := engine.Available(); o.Device == "cpu" && available > 0 && bytes > available {
		return fmt.Errorf("the weights take %s, and %s of memory are available", engine.Size(bytes), engine.Size(available))
	}
	return nil
}
