//go:build !darwin

package main

import "mla/runtime/doctor/checkup"

func machine() []checkup.Row { return nil }
