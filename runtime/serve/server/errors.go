package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"mla/runtime/engine"
	"mla/runtime/serve/completion"
	"mla/runtime/serve/fleet"
	"mla/runtime/text/grammar"
)

// apiError is an error in the format of OpenAI's API.
type apiError struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   any    `json:"param"` // the parameter's name, or null
	Code    any    `json:"code"`
	// Prompt and Context describe a prompt that is too long, in llama-server's format.
	Prompt     int `json:"n_prompt_tokens,omitempty"`
	Context    int `json:"n_ctx,omitempty"`
	retryAfter time.Duration
}

func (e *apiError) Error() string { return e.Message }

// code is a short name of the error, from a small set.
func (e *apiError) code() string {
	if code, ok := e.Code.(string); ok {
		return code
	}
	return e.Type
}

// bad is the error for a wrong parameter.
func bad(param, format string, args ...any) error {
	return &apiError{Status: http.StatusBadRequest, Message: param + ": " + fmt.Sprintf(format, args...), Type: "invalid_request_error", Param: param, Code: "invalid_value"}
}

// statusGone is nginx's status for clients that have disconnected.
const statusGone = 499

// explain converts an error to one for the client.
func explain(err error) *apiError {
	var known *apiError
	var busy *completion.BusyError
	var unavailable *completion.UnavailableError
	var long *engine.ContextError
	var pages *engine.OutOfPages
	var large *http.MaxBytesError
	var unknown *fleet.UnknownError
	var rules *grammar.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &unknown):
		return &apiError{Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found", Param: "model", Message: err.Error()}
	case errors.As(err, &busy):
		return &apiError{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "queue_full", retryAfter: busy.RetryAfter, Message: err.Error()}
	case errors.As(err, &unavailable):
		return &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: string(unavailable.State), retryAfter: time.Second, Message: err.Error()}
	case errors.As(err, &long):
		return tooLong(long)
	case errors.As(err, &pages):
		return &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: "out_of_pages", retryAfter: time.Second, Message: err.Error()}
	case errors.As(err, &rules): // the client's grammar allows no token here
		return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_value", Message: err.Error()}
	case errors.As(err, &large):
		return &apiError{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error", Code: "body_too_large", Message: fmt.Sprintf("the body has more than %d bytes", large.Limit)}
	case errors.Is(err, errDeadline):
		return &apiError{Status: http.StatusGatewayTimeout, Type: "timeout_error", Code: "deadline", Message: err.Error()}
	case errors.Is(err, context.Canceled): // only the log and the metrics get it
		return gone("the client is gone")
	case errors.Is(err, errShutdown):
		return &apiError{Status: http.StatusServiceUnavailable, Type: "unavailable_error", Code: "shutdown", Message: err.Error()}
	}
	return &apiError{Status: http.StatusInternalServerError, Type: "server_error", Message: err.Error()}
}

// tooLong is the error for a prompt that does not fit. Agents shorten their conversation when they recognise
// one of these sentences, which are Anthropic's, llama-server's and OpenAI's, or the code.
func tooLong(e *engine.ContextError) *apiError {
	return &apiError{Status: http.StatusBadRequest, Type: "exceed_context_size_error", Code: "context_length_exceeded", Prompt: e.Tokens, Context: e.Context, Message: fmt.Sprintf(
		"prompt is too long: %d tokens > %d maximum. The request exceeds the available context size. This model's maximum context length is %d tokens; the messages have %d", e.Tokens, e.Context, e.Context, e.Tokens)}
}

// gone is the error of a request whose client has disconnected.
func gone(why string) *apiError {
	return &apiError{Status: statusGone, Type: "client_error", Code: "client_gone", Message: why}
}

// unwritten is the error of a response that cannot be written.
func unwritten(err error) *apiError {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return gone("the client reads too slowly: " + err.Error())
	}
	return gone("the client is gone: " + err.Error())
}

// anthropicTypes are the names of errors in Anthropic's API, by status.
var anthropicTypes = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
	http.StatusNotFound: "not_found_error", http.StatusMethodNotAllowed: "invalid_request_error", http.StatusUnsupportedMediaType: "invalid_request_error", http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
	http.StatusGatewayTimeout: "timeout_error", http.StatusServiceUnavailable: "overloaded_error",
}

// body is the error in the format of the API to which a path belongs.
func (e *apiError) body(path string) any {
	if strings.HasPrefix(path, "/api/") { // Ollama's API
		return map[string]any{"error": e.Message}
	}
	if !strings.HasPrefix(path, "/v1/messages") {
		return map[string]any{"error": e}
	}
	kind := anthropicTypes[e.Status]
	set(&kind, "api_error")
	told := map[string]any{"type": kind, "message": e.Message}
	if e.Context > 0 {
		told["n_prompt_tokens"], told["n_ctx"] = e.Prompt, e.Context
	}
	return map[string]any{"type": "error", "error": told}
}

// writeError answers with an error.
func writeError(w http.ResponseWriter, r *http.Request, e *apiError) {
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retryAfter.Seconds()))))
	}
	writeJSON(w, e.Status, e.body(r.URL.Path))
}

// writeJSON answers with a JSON object. A disconnected client is detected elsewhere.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// clip shortens a client's text for a message.
func clip(text string, n int) string {
	if len(text) > n {
		return strings.ToValidUTF8(text[:n], "") + "…"
	}
	return text
}
