package hub

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Scheme begins a reference in places where a file name is expected.
const Scheme = "hf://"

// Ref is a reference to a model on the hub.
type Ref struct {
	User, Repo string
	// Quant is the quantisation as in file names (Q4_K_M), or a file name; "": any, see preferred.
	Quant string
}

func (r Ref) String() string {
	text := Scheme + r.User + "/" + r.Repo
	if r.Quant != "" {
		text += ":" + r.Quant
	}
	return text
}

// Named is the reference without Scheme, the form of flags.
func (r Ref) Named() string { return strings.TrimPrefix(r.String(), Scheme) }

var (
	repoPart  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`)
	quantPart = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// pages are the beginnings of addresses of the hub's web pages, which people paste.
var pages = []string{"https://huggingface.co/", "http://huggingface.co/", "https://www.huggingface.co/", "huggingface.co/", "https://hf.co/", "http://hf.co/", "hf.co/"}

// Parse parses user/repo[:QUANT] and user/repo/FILE.gguf, with or without Scheme, and addresses of the hub's
// web pages of a repository, a folder or a file.
func Parse(text string) (Ref, error) {
	plain, page := text, false
	for _, p := range append([]string{Scheme}, pages...) {
		if rest, ok := strings.CutPrefix(plain, p); ok {
			plain, page = rest, page || p != Scheme
		}
	}
	if page {
		var err error
		if plain, err = ofPage(plain); err != nil {
			return Ref{}, fmt.Errorf("%q: %w", text, err)
		}
	}
	name, quant, tagged := strings.Cut(plain, ":")
	user, repo, ok := strings.Cut(name, "/")
	if base, file, within := strings.Cut(repo, "/"); within && !tagged && isModel(file) {
		repo, quant, tagged = base, file, true
	}
	r := Ref{user, repo, quant}
	if !ok || !validPart(user) || !validPart(repo) {
		return Ref{}, fmt.Errorf("%q is no model of the hub; expected user/repo, user/repo:QUANT or an address of huggingface.co", text)
	}
	if tagged && !quantPart.MatchString(quant) && !(isModel(quant) && validPath(quant)) {
		return Ref{}, fmt.Errorf("%q: %q is neither a quantisation, such as Q4_K_M, nor the name of a GGUF file", text, quant)
	}
	return r, nil
}

// ofPage converts the path of a web page to user/repo[:QUANT], for example user/repo/blob/main/F.gguf.
func ofPage(path string) (string, error) {
	u, err := url.Parse("/" + path)
	if err != nil {
		return "", err
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if shown := u.Query().Get("show_file_info"); len(parts) == 2 && shown != "" {
		return strings.Join(parts, "/") + ":" + shown, nil
	}
	if len(parts) < 4 || !slices.Contains([]string{"resolve", "blob", "raw", "tree"}, parts[2]) {
		return strings.Join(parts[:min(len(parts), 3)], "/"), nil
	}
	if parts[3] != branch {
		return "", fmt.Errorf("only the branch %s is loaded, not %q", branch, parts[3])
	}
	name := strings.Join(parts[:2], "/")
	if last := parts[len(parts)-1]; parts[2] != "tree" && !isModel(last) {
		return "", fmt.Errorf("%s is no GGUF file", last)
	}
	if len(parts) == 4 {
		return name, nil
	}
	return name + ":" + strings.Join(parts[4:], "/"), nil
}

// Named parses the name of a model where a path is possible, too. ok is false if text is a path: the file
// exists, or the folder that it would be in, or text cannot be the name of a model.
func Named(text string) (r Ref, ok bool, err error) {
	isPage := func(p string) bool { return strings.HasPrefix(text, p) }
	if strings.HasPrefix(text, Scheme) || slices.ContainsFunc(pages, isPage) {
		r, err = Parse(text)
		return r, true, err
	}
	r, err = Parse(text)
	if err != nil || isModel(text) {
		return Ref{}, false, nil
	}
	for _, path := range []string{text, r.User} {
		if _, err := os.Lstat(path); err == nil {
			return Ref{}, false, nil
		}
	}
	return r, true, nil
}

// validPart says whether the hub allows a name. The cache uses -- as a separator.
func validPart(s string) bool {
	return repoPart.MatchString(s) && !strings.Contains(s, "..") && !strings.Contains(s, "--")
}

// isModel says whether a path is that of a model file.
func isModel(path string) bool { return strings.HasSuffix(path, ".gguf") }

// validPath says whether a path stays inside its folder and can be printed on a terminal.
func validPath(path string) bool {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' }
	return len(path) < 1024 && path != "." && fs.ValidPath(path) && strings.IndexFunc(path, bad) < 0
}
