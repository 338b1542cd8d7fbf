package server

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"mla/runtime/serve/fleet"
)

// router forwards requests to the servers of the models that they name.
type router struct {
	*Server
	fleet *fleet.Fleet
	key   string // API key of the workers
	proxy *httputil.ReverseProxy
}

// NewRouter returns a server of several models. key is the API key of the workers. Of the configuration it
// uses the settings for clients; the workers have their own for models.
func NewRouter(cfg Config, f *fleet.Fleet, key string) *Server {
	s := newServer(cfg)
	r := &router{Server: s, fleet: f, key: key}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: r.rewrite, FlushInterval: -1, ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		ModifyResponse: func(a *http.Response) error {
			for name := range common { // the router sets these itself
				a.Header.Del(name)
			}
			a.Header.Del(idHeader)
			a.Trailer.Del(usedTrailer) // announced by the worker; told has read its value
			a.Body = &told{a.Body, a}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, q *http.Request, err error) {
			if q.Context().Err() != nil {
				fail(w, q, explain(context.Cause(q.Context())))
				return
			}
			n := noted(q)
			n.attrs = append(n.attrs, slog.String("cause", err.Error()))
			fail(w, q, &apiError{Status: http.StatusBadGateway, Type: "server_error", Code: "worker_gone", retryAfter: time.Second,
				Message: "the server of this model broke off before it answered; try again"})
		},
	}
	s.handler = s.around(s.mux(r.routes()))
	return s
}

// routes is all paths: those of a worker that name a model in their body or query, and those about all
// models.
func (s *router) routes() map[string]endpoint {
	routes := fixedRoutes()
	maps.Copy(routes, map[string]endpoint{
		"GET /health":               s.health,
		"GET /v1/health":            s.health,
		"GET /models":               s.models,
		"GET /api/tags":             s.ollamaTags,
		"GET /api/ps":               s.ollamaPS,
		"POST /slots/{id}":          s.byQuery,
		"GET /v1/models":            s.models,
		"GET /v1/models/{model...}": s.model,
		"GET /metrics":              s.serveMetrics,
		"GET /props":                s.byQuery,
		"GET /slots":                s.byQuery,
		"POST /models/load":         func(w http.ResponseWriter, r *http.Request) error { return s.load(w, r, true) },
		"POST /models/unload":       func(w http.ResponseWriter, r *http.Request) error { return s.load(w, r, false) },
	})
	for pattern := range (&Server{}).routes() {
		if strings.HasPrefix(pattern, "POST ") && routes[pattern] == nil {
			routes[pattern] = s.byBody
		}
	}
	return routes
}

// health serves GET /health: always ok, as models are loaded on demand.
func (s *router) health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"status": "ok"})
	return nil
}

// models serves GET /v1/models.
func (s *router) models(w http.ResponseWriter, _ *http.Request) error {
	list := []any{}
	for _, m := range s.fleet.Models() {
		list = append(list, s.modelNamed(m))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
	return nil
}

// ollamaTags serves GET /api/tags.
func (s *router) ollamaTags(w http.ResponseWriter, _ *http.Request) error {
	list := []any{}
	for _, m := range s.fleet.Models() {
		list = append(list, ollamaModel(m.Name, m.Bytes, s.started))
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
	return nil
}

// ollamaPS serves GET /api/ps: the loaded models.
func (s *router) ollamaPS(w http.ResponseWriter, _ *http.Request) error {
	list, loaded := []any{}, s.fleet.Loaded()
	for _, m := range s.fleet.Models() {
		if _, ok := loaded[m.Name]; ok {
			list = append(list, ollamaLoaded(m.Name, m.Bytes, s.started, s.cfg.Context))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
	return nil
}

// model serves GET /v1/models/NAME.
func (s *router) model(w http.ResponseWriter, r *http.Request) error {
	for _, m := range s.fleet.Models() {
		if m.Name == r.PathValue("model") {
			writeJSON(w, http.StatusOK, s.modelNamed(m))
			return nil
		}
	}
	return &fleet.UnknownError{Name: clip(r.PathValue("model"), 100)}
}

// modelNamed is a model in OpenAI's and Anthropic's format.
func (s *router) modelNamed(m fleet.Model) any {
	_, loaded := s.fleet.Loaded()[m.Name]
	entry := s.modelEntry(m.Name, map[string]any{"size": m.Bytes, "loaded": loaded})
	status := "unloaded"
	if loaded {
		status = "loaded"
	}
	entry["status"] = map[string]any{"value": status} // llama-server's name
	return entry
}

// load serves llama-server's POST /models/load and /models/unload. A model in use is unloaded after its last
// request.
func (s *router) load(w http.ResponseWriter, r *http.Request, wanted bool) error {
	var q struct {
		Model string `json:"model"`
	}
	share, err := s.decode(w, r, &q)
	if err != nil {
		return err
	}
	share.free()
	if _, loaded := s.fleet.Loaded()[q.Model]; wanted || loaded {
		_, release, err := s.fleet.Acquire(r.Context(), q.Model)
		if err != nil {
			return err
		}
		if !wanted {
			s.fleet.Keep(q.Model, 0)
		}
		release()
	}
	writeJSON(w, http.StatusOK, map[string]any{"success": true})
	return nil
}

// byBody forwards a request whose body names the model.
func (s *router) byBody(w http.ResponseWriter, r *http.Request) error {
	b, err := s.read(w, r)
	if err != nil {
		return err
	}
	var q struct {
		Model string `json:"model"`
		Name  string `json:"name"` // Ollama's older name
	}
	r.Body, r.ContentLength = &passing{bytes.NewReader(b.data), b}, int64(len(b.data))
	defer r.Body.Close()
	if err := decodeJSON(b.data, &q); err != nil {
		return err
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		var o struct {
			KeepAlive keepAlive `json:"keep_alive"`
		}
		if err := decodeJSON(b.data, &o); err != nil {
			return err
		}
		return s.pass(w, r, ollamaName(cmp.Or(q.Model, q.Name)), o.KeepAlive)
	}
	return s.pass(w, r, q.Model, keepAlive{})
}

// byQuery forwards a request whose query names the model.
func (s *router) byQuery(w http.ResponseWriter, r *http.Request) error {
	return s.pass(w, r, r.URL.Query().Get("model"), keepAlive{})
}

// target is the context key of the address that rewrite uses.
type target struct{}

// pass forwards a request to the worker of a model; without a name, to that of the only model.
func (s *router) pass(w http.ResponseWriter, r *http.Request, name string, keep keepAlive) error {
	if name == "" && len(s.fleet.Models()) == 1 {
		name = s.fleet.Models()[0].Name
	}
	if name == "" {
		return bad("model", "it has to be one of those of /v1/models")
	}
	noted(r).attrs = append(noted(r).attrs, slog.String("model", clip(name, 100)))
	address, release, err := s.fleet.Acquire(r.Context(), name)
	if err != nil {
		return err
	}
	defer release()
	if keep.d != nil {
		s.fleet.Keep(name, *keep.d)
	}
	to, err := url.Parse(address)
	if err != nil {
		return err
	}
	s.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), target{}, to)))
	return nil
}

// rewrite makes the request for a worker. The client's key was checked before.
func (s *router) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(p.In.Context().Value(target{}).(*url.URL))
	for _, name := range []string{"Origin", "Sec-Fetch-Site", "Cookie", "X-Api-Key"} {
		p.Out.Header.Del(name)
	}
	p.Out.Header.Set("Authorization", "Bearer "+s.key)
	p.Out.Header.Set(scopeHeader, s.keyScope(p.In))
}
