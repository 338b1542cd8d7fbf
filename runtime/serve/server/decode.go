package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is the deepest nesting of a body's JSON.
const maxDepth = 100

// decode decodes a body, one JSON object, into v. It ignores unknown fields, as clients send fields of many
// servers. The caller must free the share once the decoded values are no longer needed.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, v any) (*share, error) {
	b, err := s.read(w, r)
	if err != nil {
		return nil, err
	}
	if err := decodeJSON(b.data, v); err != nil {
		b.free()
		return nil, err
	}
	return b.share, nil
}

func decodeJSON(data []byte, v any) error {
	if err := checkJSON(data); err != nil {
		return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_json", Message: err.Error()}
	}
	err := unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	var known *apiError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &kind):
		return mistyped(kind)
	}
	return &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_json", Message: err.Error()}
}

// maxFloats is the most whole numbers in a body that are written with a point or an exponent.
const maxFloats = 64

// unmarshal is json.Unmarshal, except that it accepts whole numbers such as 30.0, which languages without
// integers send.
func unmarshal(data []byte, v any) error {
	for range maxFloats {
		err := json.Unmarshal(data, v)
		var kind *json.UnmarshalTypeError
		if !errors.As(err, &kind) || kind.Type.Kind() < reflect.Int || kind.Type.Kind() > reflect.Uint64 {
			return err
		}
		text, _ := strings.CutPrefix(kind.Value, "number ")
		x, wrong := strconv.ParseFloat(text, 64)
		start := int(kind.Offset) - len(text)
		if wrong != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 || start < 0 || int(kind.Offset) > len(data) || string(data[start:kind.Offset]) != text {
			return err
		}
		data = slices.Concat(data[:start], strconv.AppendInt(nil, int64(x), 10), data[kind.Offset:])
	}
	return json.Unmarshal(data, v)
}

// mistyped is the error for a field of a wrong type.
func mistyped(e *json.UnmarshalTypeError) error {
	field := e.Field
	for _, embedded := range []string{"textRequest.", "nativeFields.", "sampling.", "structured.", "progressFields.", "switches.", "functionFields."} {
		field = strings.TrimPrefix(field, embedded)
	}
	// For a number that does not fit its field, e.Value has the number.
	if number, ok := strings.CutPrefix(e.Value, "number "); ok {
		return bad(field, "got %s; expected %s that fits %d bits", clip(number, 100), expected(e.Type), e.Type.Bits())
	}
	return bad(field, "got %s; expected %s", given(e.Value), expected(e.Type))
}

// given names the kind of a JSON value, from the decoder's name.
func given(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return "a " + kind
}

// expected names the JSON type of a Go type.
func expected(t reflect.Type) string {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return expected(t.Elem())
	case kind == reflect.Slice:
		return "a list"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "a whole number"
	case kind == reflect.Float32, kind == reflect.Float64:
		return "a number"
	case kind == reflect.String:
		return "a string"
	case kind == reflect.Bool:
		return "true or false"
	}
	return "an object"
}

// checkJSON checks what the decoder would accept, or follow too deeply.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("the body is not UTF-8")
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return errors.New("the body is not a JSON object")
	}
	if err := (&scanner[[]byte]{data: data, deepest: maxDepth}).scan(); err != nil {
		return fmt.Errorf("the body has %w", err)
	}
	return nil
}

// startRequest decodes a request for a text, of any API, and starts its job.
func (s *Server) startRequest(w http.ResponseWriter, r *http.Request, q interface {
	job(context.Context, *Server) (*job, error)
}) (*job, *stream, error) {
	share, err := s.decode(w, r, q)
	if err != nil {
		return nil, nil, err
	}
	defer share.free()
	if s, err = s.within(r, q); err != nil {
		return nil, nil, err
	}
	j, err := q.job(r.Context(), s)
	if err != nil {
		return nil, nil, err
	}
	if q, ok := q.(forgetful); ok {
		q.forget()
	}
	st, err := s.start(r, j)
	return j, st, err
}

// renderRequest decodes a request with a conversation, and renders it. The caller must free the share once
// the result is no longer needed.
func (s *Server) renderRequest(w http.ResponseWriter, r *http.Request, q interface {
	conversation(*Server) (*conversation, error)
}) (*rendered, *share, error) {
	share, err := s.decode(w, r, q)
	if err != nil {
		return nil, nil, err
	}
	text, err := s.renderWithin(r, q)
	if err != nil {
		share.free()
		return nil, nil, err
	}
	return text, share, nil
}

func (s *Server) renderWithin(r *http.Request, q interface {
	conversation(*Server) (*conversation, error)
}) (*rendered, error) {
	s, err := s.within(r, q)
	if err != nil {
		return nil, err
	}
	c, err := q.conversation(s)
	if err != nil {
		return nil, err
	}
	return s.render(c)
}
