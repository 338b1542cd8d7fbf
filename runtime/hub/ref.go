package hub

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// Scheme begins a reference where a file name is expected.
const Scheme = "hf://"

// Ref names a model on the hub.
type Ref struct {
	User, Repo string
	// Quant is the quantisation, as file names have it (Q4_K_M), or a file name; "": any,
	// see preferred.
	Quant string
}

func (r Ref) String() string {
	text := Scheme + r.User + "/" + r.Repo
	if r.Quant != "" {
		text += ":" + r.Quant
	}
	return text
}

var (
	repoPart  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`)
	quantPart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// Parse reads user/repo[:QUANT], with or without Scheme in front of it.
func Parse(text string) (Ref, error) {
	name, quant, tagged := strings.Cut(strings.TrimPrefix(text, Scheme), ":")
	user, repo, ok := strings.Cut(name, "/")
	r := Ref{user, repo, quant}
	if !ok || !validPart(user) || !validPart(repo) {
		return Ref{}, fmt.Errorf("%q is no model of the hub; expected user/repo or user/repo:QUANT", text)
	}
	if tagged && !quantPart.MatchString(quant) && !(isModel(quant) && validPath(quant)) {
		return Ref{}, fmt.Errorf("%q: %q is neither a quantisation, such as Q4_K_M, nor the name of a GGUF file", text, quant)
	}
	return r, nil
}

// validPart tells names that the hub may have; -- is what the cache separates them by.
func validPart(s string) bool {
	return repoPart.MatchString(s) && !strings.Contains(s, "..") && !strings.Contains(s, "--")
}

// isModel tells the names of model files.
func isModel(path string) bool { return strings.HasSuffix(path, ".gguf") }

// validPath tells paths that stay inside a folder and that a terminal can print.
func validPath(path string) bool {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' }
	return len(path) < 1024 && path != "." && fs.ValidPath(path) && strings.IndexFunc(path, bad) < 0
}
