//go:build !darwin

package main

import "mla/runtime/checkup"

func machine() []checkup.Row { return nil }
