package main

import (
	"fmt"
	"os"
	"time"

	"mla/runtime/gguf"
	"mla/runtime/load/hub"
)

// localModel returns the path of a model file. A model of the Hugging Face hub is first downloaded to the
// hub's cache if it is not there.
func localModel(name string) (path string, err error) {
	r, ok, err := hub.Named(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %v", errUsage, err)
	case !ok:
		return name, nil
	}
	client, err := hub.FromEnv(os.Getenv)
	if err != nil {
		return "", err
	}
	client.Look = func(header *gguf.File, _ int64) error {
		h, err := gguf.ReadHParams(header)
		if err != nil {
			return err
		}
		return header.CheckTypes(&h)
	}
	client.Note = func(line string) { fmt.Fprintln(os.Stderr, line) }
	client.Progress = percent(client.Note, name)
	ctx, stop := interruptible()
	defer stop()
	return client.Model(ctx, r)
}

// percent returns a progress function for a download that notes a line every 5 %.
func percent(note func(string), name string) func(done, total int64) {
	var meter hub.Meter
	next := int64(0)
	return func(done, total int64) {
		meter.Add(time.Now(), done)
		if done < next {
			return
		}
		next = done + max(total/20, 1)
		note(fmt.Sprintf("loading %s: %.2f of %.2f GB  %s", name, float64(done)/1e9, float64(total)/1e9, meter.Text(total)))
	}
}
