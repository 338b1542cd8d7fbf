package main

import (
	"fmt"
	"os"
	"time"

	"mla/runtime/engine"
	"mla/runtime/gguf"
	"mla/runtime/load/bind"
	"mla/runtime/load/hub"
)

// hubFlag adds -hf, which is -model with a model of the hub.
func (f *flags) hubFlag() {
	f.Func("hf", "model `user/repo[:QUANT]` of the Hugging Face hub, or the address of its page, in place of -model: from its cache, or loaded once, if it can run here (HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE=1 as the hub's own tools)", func(text string) error {
		r, err := hub.Parse(text)
		if f.model = ""; err == nil {
			f.model = r.String()
		}
		return err
	})
}

// openModel maps the model file.
func (f *flags) openModel() (*gguf.File, error) {
	if err := f.local(); err != nil {
		return nil, err
	}
	file, err := gguf.Open(f.model)
	if err == nil && f.pre != "" {
		file.Set(gguf.PreKey, gguf.String(f.pre))
	}
	return file, err
}

// preFlag adds -pre.
func (f *flags) preFlag() {
	f.Func("pre", "`name` of the pre-tokeniser, in place of the file's key tokenizer.ggml.pre: for files without the key, or with another program's name there", func(name string) error {
		_, err := gguf.PreTokenizer(name)
		f.pre = name
		return err
	})
}

// local replaces f.model by a path if it names a model of the hub: the path in the hub's cache. The model is
// downloaded if the cache does not have it.
func (f *flags) local() error {
	r, ok, err := hub.Named(f.model)
	if err != nil {
		return f.wrong("%v", err)
	}
	if ok {
		f.model, err = f.fetch(r)
	}
	return err
}

// look refuses a model of the hub before its download if it would be refused afterwards.
func (f *flags) look(header *gguf.File, bytes int64) error {
	if f.pre != "" {
		header.Set(gguf.PreKey, gguf.String(f.pre))
	}
	if err := bind.Resolve(header).Runnable(); err != nil {
		return fmt.Errorf("%w\nso it is not loaded", err)
	}
	if available := engine.Available(); f.inHost && !f.force && available > 0 && bytes > available {
		return fmt.Errorf("%s of memory are available; %s; so it is not loaded", engine.Size(available), tooBig(bytes, available))
	}
	return nil
}

// fetch downloads a model of the hub into the cache.
func (f *flags) fetch(r hub.Ref) (string, error) {
	client, err := hub.FromEnv(os.Getenv)
	if err != nil {
		return "", err
	}
	bar := f.progress("loading " + r.String())
	defer bar.clear()
	var meter hub.Meter
	var loaded int64
	client.Progress = func(done, total int64) {
		meter.Add(time.Now(), done)
		if loaded = total; bar.due() {
			bar.show(fmt.Sprintf("%.2f of %.2f GB, %s", float64(done)/1e9, float64(total)/1e9, meter.Text(total)))
		}
	}
	client.Look = f.look
	client.Note = func(line string) {
		bar.clear()
		f.note("%s\n", line)
	}
	ctx, stop := interruptible()
	defer stop()
	start := time.Now()
	path, err := client.Model(ctx, r)
	if bar.clear(); err == nil && loaded > 0 {
		f.note("loaded %s, %.2f GB in %v, to %s\n", r, float64(loaded)/1e9, time.Since(start).Round(time.Second), path)
	}
	return path, err
}
