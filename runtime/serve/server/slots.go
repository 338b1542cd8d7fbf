package server

import (
	"net/http"
	"strconv"
)

// slotAction is POST /slots/ID?action=…: what llama-server does with the caches of one slot.
// Here all requests of a scope find what any of them has left, so a slot has no caches of its
// own to save, restore or erase.
func (s *Server) slotAction(_ http.ResponseWriter, r *http.Request) error {
	id, err := strconv.Atoi(r.PathValue("id"))
	if most := s.cfg.Service.Stats().Sessions; err != nil || id < 0 || id >= most {
		return bad("id_slot", "%q; expected 0 to %d", clip(r.PathValue("id"), 20), most-1)
	}
	switch action := r.URL.Query().Get("action"); action {
	case "save", "restore", "erase":
		return &apiError{Status: http.StatusNotImplemented, Type: "not_supported_error", Code: "not_supported", Param: "action",
			Message: "slots have no caches of their own: requests share the pages of prompts, and the flag -prompt-cache-dir keeps them from one run to the next"}
	default:
		return bad("action", "%q; expected save, restore or erase", clip(action, 50))
	}
}
