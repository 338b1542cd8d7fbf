// Package page is the server's web page at /: a chat, as static files. The folder vendor has third-party
// libraries, which scripts/page-vendor.sh downloads: KaTeX for maths, highlight.js for code. The page uses
// the server through /v1/chat/completions only, as any other client does, and keeps conversations in the
// browser.
//
// The page shows a model's output as text only (markdown.js). If that ever fails, the Content-Security-Policy
// still allows only the files below to run, and nothing to be fetched from anywhere else.
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

// policy allows only the page's own files, and no markup from strings (trusted types).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types is the content types of the files. The system's table may differ.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2",
}

// folder is the path of the page's files; the page itself is at /.
const folder = "/page/"

// Has says whether a path belongs to the page, which needs no API key.
func Has(url string) bool { return url == "/" || strings.HasPrefix(url, folder) }

// compressed is the extension of files that are stored compressed.
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
	_, _ = w.Write(data) // a disconnected client is detected elsewhere
	return true
}

// takesGzip says whether a client accepts compressed responses, as every browser does.
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
