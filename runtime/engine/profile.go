package engine

import (
	"mla/runtime/device"
	"mla/runtime/plan"
)

// Profiler is what measures the device's dispatches; it is nil where the device cannot. To
// measure overwrites the caches: all sessions are empty from here on.
func (m *Model) Profiler() (*device.Profiler, error) {
	p := m.runner.Diagnostics().Profiler
	if p == nil {
		return nil, nil
	}
	if err := m.forget(); err != nil {
		return nil, err
	}
	// What is measured are rows of the first block table.
	pages := make([]uint32, min(m.pages, plan.Pages(m.context)))
	for i := range pages {
		pages[i] = uint32(i)
	}
	return p, m.fail(m.runner.Assign(0, 0, pages))
}

// DevicePicks tells whether the device can pick tokens itself and run ahead.
func (m *Model) DevicePicks() bool {
	_, ok := m.runner.(device.Picker)
	return ok
}
