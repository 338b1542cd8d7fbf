package mtl

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A message is a registered function and its selector. Kinds differ in the number of arguments and in whether
// there is a result.
type (
	do0              struct{ to[func(ID, SEL)] }
	do1[A any]       struct{ to[func(ID, SEL, A)] }
	do2[A, B any]    struct{ to[func(ID, SEL, A, B)] }
	do3[A, B, C any] struct{ to[func(ID, SEL, A, B, C)] }

	get0[R any]             struct{ to[func(ID, SEL) R] }
	get1[A, R any]          struct{ to[func(ID, SEL, A) R] }
	get2[A, B, R any]       struct{ to[func(ID, SEL, A, B) R] }
	get3[A, B, C, R any]    struct{ to[func(ID, SEL, A, B, C) R] }
	get4[A, B, C, D, R any] struct {
		to[func(ID, SEL, A, B, C, D) R]
	}

	// make0 and make1 are sent to a class and return an object.
	make0        struct{ to[func(ID, SEL) ID] }
	make1[A any] struct{ to[func(ID, SEL, A) ID] }
)

// to is what all kinds share; F is the type of objc_msgSend for the message.
type to[F any] struct {
	call  F
	sel   SEL
	class ID // the class that a class message is sent to; 0 if the system does not know it
}

func (m *do0) send(o ID)                               { m.call(o, m.sel) }
func (m *do1[A]) send(o ID, a A)                       { m.call(o, m.sel, a) }
func (m *do2[A, B]) send(o ID, a A, b B)               { m.call(o, m.sel, a, b) }
func (m *do3[A, B, C]) send(o ID, a A, b B, c C)       { m.call(o, m.sel, a, b, c) }
func (m *get0[R]) send(o ID) R                         { return m.call(o, m.sel) }
func (m *get1[A, R]) send(o ID, a A) R                 { return m.call(o, m.sel, a) }
func (m *get2[A, B, R]) send(o ID, a A, b B) R         { return m.call(o, m.sel, a, b) }
func (m *get3[A, B, C, R]) send(o ID, a A, b B, c C) R { return m.call(o, m.sel, a, b, c) }
func (m *get4[A, B, C, D, R]) send(o ID, a A, b B, c C, d D) R {
	return m.call(o, m.sel, a, b, c, d)
}
func (m *make0) send() ID       { return m.call(m.class, m.sel) }
func (m *make1[A]) send(a A) ID { return m.call(m.class, m.sel, a) }

// message is a message of any kind, for the code that registers them.
type message interface {
	function() reflect.Value // addressable, of type F
	set(SEL, ID)
}

func (m *to[F]) function() reflect.Value { return reflect.ValueOf(&m.call).Elem() }
func (m *to[F]) set(sel SEL, class ID)   { m.sel, m.class = sel, class }

// functions are the C functions that are called directly.
var functions struct {
	getClass     func(string) ID       `c:"objc_getClass"`
	getProtocol  func(string) ID       `c:"objc_getProtocol"`
	registerName func(string) SEL      `c:"sel_registerName"`
	poolPush     func() unsafe.Pointer `c:"objc_autoreleasePoolPush"`
	poolPop      func(unsafe.Pointer)  `c:"objc_autoreleasePoolPop"`
	systemDevice func() ID             `c:"MTLCreateSystemDefaultDevice"`

	sysctl func(name string, value, length, set unsafe.Pointer, setLength uint64) int32 `c:"sysctlbyname"`
}

// encodings maps the Go types of messages to their Objective-C types.
var encodings = map[reflect.Type]Type{
	reflect.TypeFor[ID]():             Object,
	reflect.TypeFor[SEL]():            Sel,
	reflect.TypeFor[bool]():           Bool,
	reflect.TypeFor[uint64]():         UInt,
	reflect.TypeFor[int32]():          CInt,
	reflect.TypeFor[int64]():          Int,
	reflect.TypeFor[float64]():        Double,
	reflect.TypeFor[string]():         CString,
	reflect.TypeFor[unsafe.Pointer](): Pointer,
	reflect.TypeFor[*ID]():            ErrorAt,
	reflect.TypeFor[idList]():         Objects,
	reflect.TypeFor[GridSize]():       Size,
	reflect.TypeFor[span]():           Range,
	reflect.TypeFor[osVersion]():      Version,
}

// declared yields all declared messages with their tags.
func declared(yield func(tag string, m message) bool) {
	v := reflect.ValueOf(&messages).Elem()
	for i := range v.NumField() {
		// The fields are unexported. A pointer to each allows writing to them through reflect.
		field := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer())
		if !yield(v.Type().Field(i).Tag.Get("objc"), field.Interface().(message)) {
			return
		}
	}
}

// row returns a message's row of the table.
func row(tag string) (*Selector, error) {
	i := slices.IndexFunc(Selectors, func(s Selector) bool { return s.Class+" "+s.Name == tag })
	if i < 0 {
		return nil, fmt.Errorf("message %q is not in the table", tag)
	}
	return &Selectors[i], nil
}

// check compares the type of a message's Go function with the row.
func (s *Selector) check(f reflect.Type) error {
	want := append([]Type{Object, Sel}, s.Args...)
	got := make([]Type, f.NumIn())
	for i := range got {
		got[i] = encodings[f.In(i)]
	}
	result := Void
	if f.NumOut() > 0 {
		result = encodings[f.Out(0)]
	}
	if !slices.Equal(got, want) || result != s.Return {
		return fmt.Errorf("message %s %s is declared as %v giving %q; the table has %v giving %q", s.Class, s.Name, got, result, want, s.Return)
	}
	return nil
}

// register resolves the C functions, then fills messages: messages of the same signature share one registered
// Go function.
func register(symbol func(string) (uintptr, error)) error {
	v := reflect.ValueOf(&functions).Elem()
	for i := range v.NumField() {
		address, err := symbol(v.Type().Field(i).Tag.Get("c"))
		if err != nil {
			return err
		}
		field := v.Field(i)
		purego.RegisterFunc(reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface(), address)
	}
	send, err := symbol("objc_msgSend")
	if err != nil {
		return err
	}
	signatures := map[reflect.Type]reflect.Value{}
	for tag, m := range declared {
		s, err := row(tag)
		if err != nil {
			return err
		}
		f := m.function()
		if err := s.check(f.Type()); err != nil {
			return err
		}
		if known, ok := signatures[f.Type()]; ok {
			f.Set(known)
		} else {
			purego.RegisterFunc(f.Addr().Interface(), send)
			signatures[f.Type()] = f
		}
		class := ID(0)
		if s.ClassMethod() {
			class = functions.getClass(s.Class)
		}
		m.set(functions.registerName(s.Selector()), class)
	}
	return nil
}
