package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "token"), []byte("hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env                  map[string]string
		cache, token, server string
		offline              bool
		err                  string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.cache/huggingface/hub", "", defaultEndpoint, false, ""},
		{map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub", "", defaultEndpoint, false, ""},
		{map[string]string{"HF_HOME": home}, home + "/hub", "hf_file", defaultEndpoint, false, ""},
		{map[string]string{"HF_HOME": home, "HF_HUB_CACHE": "/c", "HF_TOKEN": " hf_env ", "HF_HUB_OFFLINE": "TRUE"}, "/c", "hf_env", defaultEndpoint, true, ""},
		{map[string]string{"HOME": "/h", "HF_TOKEN_PATH": home + "/token", "HF_ENDPOINT": "https://mirror/x/"}, "/h/.cache/huggingface/hub", "hf_file", "https://mirror/x", false, ""},
		{map[string]string{"HOME": "/h", "HF_ENDPOINT": "mirror"}, "", "", "", false, "HF_ENDPOINT is"},
		{map[string]string{"HOME": "/h", "HF_ENDPOINT": "file:///etc"}, "", "", "", false, "HF_ENDPOINT is"},
		{map[string]string{"HOME": "/h", "HF_TOKEN": "a\nb"}, "", "", "", false, "the token"},
		{map[string]string{}, "", "", "", false, "set HF_HOME"},
	} {
		got, err := FromEnv(func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v; want %q", c.env, err, c.err)
			}
			continue
		}
		if err != nil || got.Cache != c.cache || got.Token != c.token || got.Endpoint != c.server || got.Offline != c.offline {
			t.Errorf("%v: %+v, %v", c.env, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Ref{
		"unsloth/GLM-4.7-Flash-GGUF":          {"unsloth", "GLM-4.7-Flash-GGUF", ""},
		"hf://u/r:UD-Q4_K_XL":                 {"u", "r", "UD-Q4_K_XL"},
		"u/r:Q8_0/m-Q8_0-00001-of-00002.gguf": {"u", "r", "Q8_0/m-Q8_0-00001-of-00002.gguf"},
		"u":                                   {}, "u/": {}, "/r": {}, "u/r/x": {}, "u/r:": {}, "../../r": {}, "u/..": {}, "u/a--b": {}, "u/r:../../x.gguf": {}, "u/r:a b": {}, "": {}, "hf://": {}, "u/r?x": {},
	} {
		if got, err := Parse(text); got != want || (err == nil) != (want != Ref{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

func TestChoose(t *testing.T) {
	list := func(names ...string) (files []file) {
		for _, n := range names {
			files = append(files, file{path: n, size: 1})
		}
		return files
	}
	for _, c := range []struct {
		files []file
		quant string
		want  string // the first file, or what the error says
	}{
		{list("m.Q8_0.gguf", "m.Q4_K_M.gguf", "mmproj-F16.gguf"), "", "m.Q4_K_M.gguf"},
		{list("m.Q8_0.gguf", "m.Q4_K_M.gguf"), "q8_0", "m.Q8_0.gguf"},
		{list("m-UD-Q4_K_XL.gguf", "m-Q4_K_S.gguf"), "UD-Q4_K_XL", "m-UD-Q4_K_XL.gguf"},
		{list("BF16/m-00001-of-00002.gguf", "BF16/m-00002-of-00002.gguf", "m-IQ1_S.gguf"), "bf16", "BF16/m-00001-of-00002.gguf"},
		{list("m-Q4_0-imat.gguf", "m-Q8_0.gguf"), "Q4_0", "m-Q4_0-imat.gguf"},
		{list("a-Q4_0.gguf", "b-Q4_0.gguf"), "Q4_0", "Q4_0 could be each of a-Q4_0.gguf, b-Q4_0.gguf"},
		{list("a-Q4_0.gguf", "b-Q4_0.gguf"), "", "could be each of"},
		{list("a-Q4_0.gguf", "b-Q4_0.gguf"), "b-Q4_0.gguf", "b-Q4_0.gguf"},
		{list("a.gguf"), "", "a.gguf"},
		{list("a.gguf", "b.gguf"), "", "say which one after a colon; there are a.gguf, b.gguf"},
		{list("a-Q8_0.gguf"), "Q4_0", "no GGUF file is of Q4_0; there are a-Q8_0.gguf"},
		{list("a-Q8_0.gguf"), "x.gguf", "there is no x.gguf"},
		{list("a-00001-of-00002.gguf"), "", "1 of 2 parts"},
		{list("a-00002-of-00002.gguf", "a-00003-of-00002.gguf"), "", "is not there"},
		{list("a-00001-of-00001.gguf", "a.gguf"), "", "say which one"},
		{list("README.md"), "", "no GGUF file"},
	} {
		m, err := choose(c.files, c.quant)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = m.files[0].path
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%v, %q: %q; want %q", c.files, c.quant, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "x": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:03:05 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %v; want %v", text, got, want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m Meter
	now := time.Now()
	m.Add(now, 100e6) // was there
	if text := m.Text(1000e6); text != "" {
		t.Error(text)
	}
	m.Add(now.Add(2*time.Second), 300e6)
	if text := m.Text(1000e6); text != "100.0 MB/s, 7s left" {
		t.Error(text)
	}
}
