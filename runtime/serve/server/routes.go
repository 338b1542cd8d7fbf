package server

import (
	"maps"
	"net/http"

	"mla/runtime/serve/server/page"
)

// endpoint answers a request, or returns an error before it has written anything.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// routes is all paths that need the model.
func (s *Server) routes() map[string]endpoint {
	routes := fixedRoutes()
	maps.Copy(routes, map[string]endpoint{
		"GET /health":               s.health,
		"GET /v1/models":            s.models,
		"GET /v1/models/{model...}": s.model,
		"POST /v1/chat/completions": s.chatCompletions,
		"POST /v1/completions":      s.completions,
		"POST /v1/responses":        s.responses,

		"POST /v1/chat/completions/input_tokens": s.chatTokens,
		"POST /v1/responses/input_tokens":        s.responsesTokens,

		// llama-server's paths, for clients whose base address has no /v1.
		"GET /v1/health":         s.health,
		"GET /models":            s.models,
		"POST /chat/completions": s.chatCompletions,
		"POST /responses":        s.responses,

		"POST /chat/completions/input_tokens": s.chatTokens,
		"POST /responses/input_tokens":        s.responsesTokens,

		"POST /completion":               s.completion,
		"POST /completions":              s.completion,
		"POST /infill":                   s.infill,
		"POST /slots/{id}":               s.slotAction,
		"POST /v1/messages":              s.messages,
		"POST /v1/messages/count_tokens": s.countTokens,
		"POST /tokenize":                 s.tokenize,
		"POST /detokenize":               s.detokenize,
		"POST /apply-template":           s.applyTemplate,
		"GET /props":                     s.props,
		"GET /slots":                     s.slots,
		"GET /metrics":                   s.metrics.serve,

		"POST /api/chat":     s.ollamaChats,
		"POST /api/generate": s.ollamaGenerates,
		"POST /api/show":     s.ollamaShow,
		"GET /api/tags":      s.ollamaTags,
		"GET /api/ps":        s.ollamaPS,
	})
	return routes
}

// mux makes a handler of endpoints, together with those that every server has.
func (s *Server) mux(routes map[string]endpoint) *http.ServeMux {
	mux := http.NewServeMux()
	maps.Copy(routes, map[string]endpoint{"GET /{$}": s.page, "GET /page/{file...}": s.page, "/": func(w http.ResponseWriter, r *http.Request) error {
		if allow := methods(mux, r); allow != "" {
			w.Header().Set("Allow", allow)
			return &apiError{Status: http.StatusMethodNotAllowed, Type: "invalid_request_error", Code: "method_not_allowed", Message: clip(r.URL.Path, 200) + " wants " + allow + ", not " + clip(r.Method, 20)}
		}
		return s.notFound(w, r)
	}})
	for pattern, e := range routes {
		mux.Handle(pattern, s.wrap(pattern, e))
	}
	return mux
}

// methods lists the methods of a path; "": the path does not exist.
func methods(mux *http.ServeMux, r *http.Request) string {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} { // no path has several
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "/" {
			return method
		}
	}
	return ""
}

// page serves GET / and its files.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	if !page.Serve(w, r) {
		return s.notFound(w, r)
	}
	return nil
}

// notFound answers paths that do not exist.
func (s *Server) notFound(_ http.ResponseWriter, r *http.Request) error {
	return &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Code: "not_found", Message: "there is no " + clip(r.Method, 20) + " " + clip(r.URL.Path, 200)}
}
