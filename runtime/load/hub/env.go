package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The variables that the hub's own tools read.
const (
	endpointVariable = "HF_ENDPOINT"
	offlineVariable  = "HF_HUB_OFFLINE"
)

const defaultEndpoint = "https://huggingface.co"

// FromEnv returns the client that the environment describes: HF_ENDPOINT, HF_HUB_CACHE, HF_HOME, HF_TOKEN,
// HF_TOKEN_PATH and HF_HUB_OFFLINE, with the meaning that they have for the hub's own tools.
func FromEnv(getenv func(string) string) (*Client, error) {
	home, err := hubHome(getenv)
	if err != nil {
		return nil, err
	}
	c := &Client{
		Endpoint: strings.TrimRight(first(getenv(endpointVariable), defaultEndpoint), "/"),
		Cache:    first(getenv("HF_HUB_CACHE"), getenv("HUGGINGFACE_HUB_CACHE"), filepath.Join(home, "hub")),
		Offline:  slices.Contains([]string{"1", "on", "yes", "true"}, strings.ToLower(getenv(offlineVariable))),
		Stall:    30 * time.Second,
		Pause:    time.Second,
	}
	c.HTTP = newHTTP()
	u, err := url.Parse(c.Endpoint)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s is %q; expected a URL like %s", endpointVariable, c.Endpoint, defaultEndpoint)
	}
	c.Token = first(getenv("HF_TOKEN"), getenv("HUGGING_FACE_HUB_TOKEN"))
	if c.Token == "" {
		c.Token, err = readToken(first(getenv("HF_TOKEN_PATH"), filepath.Join(home, "token")))
	}
	if c.Token = strings.TrimSpace(c.Token); strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		err = errors.New("the token of the hub has characters that no token has; look at HF_TOKEN and the file that hf auth login wrote")
	}
	return c, err
}

// hubHome is the folder of the hub's own tools.
func hubHome(getenv func(string) string) (string, error) {
	if home := getenv("HF_HOME"); home != "" {
		return home, nil
	}
	if cache := getenv("XDG_CACHE_HOME"); cache != "" {
		return filepath.Join(cache, "huggingface"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("there is no folder for models of the hub: set HF_HOME")
	}
	return filepath.Join(home, ".cache", "huggingface"), nil
}

// readToken reads the token file of the hub's own tools; a missing file is no error.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1024))
	return string(text), err
}

// first is the first text that is not empty; "": all are.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
