package gguf

import "fmt"

// Uint returns the non-negative integer stored under key, of any width. As for
// all the typed getters, a missing key gives false and no error, and a value of
// another type gives an error that names the key, its type and the wanted one.
func (f *File) Uint(key string) (uint64, bool, error) { return get(f, key, Value.Uint) }

// Float returns the float32 or float64 stored under key.
func (f *File) Float(key string) (float64, bool, error) { return get(f, key, Value.Float) }

// Bool returns the boolean stored under key.
func (f *File) Bool(key string) (bool, bool, error) { return get(f, key, Value.Bool) }

// String returns the string stored under key.
func (f *File) String(key string) (string, bool, error) { return get(f, key, Value.Text) }

// Strings returns the array of strings stored under key.
func (f *File) Strings(key string) ([]string, bool, error) { return get(f, key, Value.Strings) }

// Ints returns the array of integers, of any width, stored under key.
func (f *File) Ints(key string) ([]int64, bool, error) { return get(f, key, Value.Ints) }

// Floats returns the array of float32 or float64 stored under key.
func (f *File) Floats(key string) ([]float64, bool, error) { return get(f, key, Value.Floats) }

func get[T any](f *File, key string, as func(Value) (T, error)) (out T, found bool, err error) {
	v, ok := f.Lookup(key)
	if !ok {
		return out, false, nil
	}
	if out, err = as(v); err != nil {
		return out, true, fmt.Errorf("%s: key %q: %w", f.Path, key, err)
	}
	return out, true, nil
}
