// Package page is the web page that the server has at /: a chat, as files that a browser
// takes as they are. The folder vendor has libraries of others, as scripts/page-vendor.sh brings
// them: KaTeX for maths, highlight.js for code. The page speaks to the server through /v1/chat/completions only, as
// any other client does, and keeps conversations in the browser.
//
// What a model writes becomes text in the page and nothing else (markdown.js). Should that
// ever fail, the Content-Security-Policy still lets nothing run but the files below, and
// lets nothing be fetched from anywhere else.
package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"path"
	"strings"
)

//go:embed *.html *.css *.js *.svg vendor
var files embed.FS

// policy allows the page's own files, and no markup made of texts (trusted types).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are those of the files. The system's table may have others for them.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2",
}

// folder is where the page's files are, beside the page itself at /.
const folder = "/page/"

// Has says whether a path is one of the page's, which have nothing to hide.
func Has(url string) bool { return url == "/" || strings.HasPrefix(url, folder) }

// compressed ends the names of files that are stored so.
const compressed = ".gz"

// Serve answers with the file at a path; false: there is none.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	name := "index.html"
	if r.URL.Path != "/" {
		name = strings.TrimPrefix(r.URL.Path, folder)
	}
	if types[path.Ext(name)] == "" {
		return false
	}
	h := w.Header()
	data, err := files.ReadFile(name)
	if err != nil {
		if data, err = files.ReadFile(name + compressed); err != nil {
			return false
		}
		if takesGzip(r) {
			h.Set("Content-Encoding", "gzip")
		} else if data, err = unpack(data); err != nil {
			return false
		}
	}
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	_, _ = w.Write(data) // that the client is gone is noticed elsewhere
	return true
}

// takesGzip says whether a client reads compressed answers, as every browser does.
func takesGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

func unpack(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
