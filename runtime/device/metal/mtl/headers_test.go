package mtl

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// headers has the content of testdata/metal_api.tsv: declarations of Apple's headers.
type headers struct {
	messages map[string]declaration // by class and selector, "MTLBuffer contents"
	enums    map[string]string      // integer type by name, "MathMode"
	values   map[string]int64       // of enumerators, "MathModeSafe"
	of       map[string]string      // an enumerator's enumeration
}

// declaration is how the headers declare one message.
type declaration struct {
	args   []string
	result string
}

// kinds are the encodings of the headers' kinds of arguments and results. Objects
// and enumerations follow from their kind, see encoding.
var kinds = map[string]Type{
	"void": Void, "BOOL": Bool, "NSUInteger": UInt, "NSInteger": Int, "uint64": UInt, "double": Double,
	"char*": CString, "void*": Pointer, "SEL": Sel, "id*": ErrorAt, "block": Object,
	"MTLSize": Size, "NSRange": Range, "OperatingSystemVersion": Version,
	"array of MTLResource*": Objects,
	// A pointer to an object that the callee makes, like NSError**; the runtime
	// passes none.
	"id MTLAutoreleasedComputePipelineReflection": Pointer,
}

// inherited names the protocol that declares a message for another one.
var inherited = map[string]string{
	"MTLBuffer":                "MTLResource",
	"MTLComputeCommandEncoder": "MTLCommandEncoder",
}

// undeclared lists the messages that Apple's C++ headers have no row for, each with the source of its type.
var undeclared = map[string]string{
	"NSObject -retain":                                              "the headers send it as NS::Object::retain, which is generic; the Objective-C runtime's documentation gives -(id)retain",
	"NSObject -release":                                             "likewise, -(void)release",
	"NSObject -conformsToProtocol:":                                 "the headers ask for selectors only; the Objective-C runtime's documentation gives -(BOOL)conformsToProtocol:(Protocol *)",
	"NSString +stringWithUTF8String:":                               "the headers make strings with an encoding; Foundation's documentation gives +(id)stringWithUTF8String:(const char *)",
	"MTLCompileOptions +new":                                        "+(id)new is NSObject's, the headers say alloc()->init()",
	"MTLComputePipelineDescriptor +new":                             "likewise",
	"MTLBinaryArchiveDescriptor +new":                               "likewise",
	"MTLIndirectCommandBufferDescriptor +new":                       "likewise",
	"MTLResidencySetDescriptor +new":                                "likewise",
	"MTLComputePipelineDescriptor -setOptimizeForPersistentKernel:": "newer than the headers; the page of macOS 27 has the property, a Bool",
	"MTLComputePipelineState -recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:": "newer than the headers; the page of macOS 27 has the name, MTLSize and Int",
}

func readHeaders(text string) (*headers, error) {
	h := &headers{messages: map[string]declaration{}, enums: map[string]string{}, values: map[string]int64{}, of: map[string]string{}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		switch f := strings.Split(line, "\t"); {
		case len(f) == 4:
			err = h.addMessage(f)
		case len(f) == 3 && strings.HasPrefix(f[0], "enum "):
			err = h.addEnum(strings.TrimPrefix(f[0], "enum "), f[1], f[2])
		default:
			err = fmt.Errorf("%d fields", len(f))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return h, nil
}

func (h *headers) addMessage(f []string) error {
	d := declaration{result: f[3]}
	if f[2] != "-" {
		for arg := range strings.SplitSeq(f[2], ",") {
			d.args = append(d.args, strings.TrimSpace(arg))
		}
	}
	if f[0] == "NSObject" && len(d.args) > 0 {
		d.args = d.args[1:] // the receiver: a static function of the headers sends the message
	}
	tag := f[0] + " " + f[1]
	if _, twice := h.messages[tag]; twice {
		return fmt.Errorf("twice")
	}
	h.messages[tag] = d
	return nil
}

func (h *headers) addEnum(name, integer, values string) error {
	h.enums[name] = integer
	for v := range strings.SplitSeq(values, ", ") {
		enumerator, number, _ := strings.Cut(v, " = ")
		base, shift, shifted := strings.Cut(number, " << ")
		n, err := strconv.ParseInt(base, 10, 64)
		if err != nil {
			return err
		}
		if shifted {
			by, err := strconv.ParseUint(shift, 10, 6)
			if err != nil {
				return err
			}
			n <<= by
		}
		h.values[enumerator], h.of[enumerator] = n, name
	}
	return nil
}

// find returns a message's declaration, by its class or by the protocol that declares it for the class.
func (h *headers) find(s *Selector) (tag string, d declaration, ok bool) {
	for _, class := range []string{s.Class, inherited[s.Class]} {
		tag = class + " " + s.Selector()
		if d, ok = h.messages[tag]; ok {
			return tag, d, true
		}
	}
	return "", d, false
}

// encoding returns the Objective-C type of a kind; "" for an unknown kind.
func (h *headers) encoding(kind string) Type {
	if t, ok := kinds[kind]; ok {
		return t
	}
	if enum, ok := enumOf(kind); ok {
		name, integer, _ := strings.Cut(strings.TrimSuffix(enum, ")"), " (")
		if declared, ok := h.enums[name]; ok && declared != integer {
			return ""
		}
		return kinds[integer]
	}
	if strings.HasPrefix(kind, "id ") {
		return Object
	}
	return ""
}

func enumOf(kind string) (string, bool) { return strings.CutPrefix(kind, "enum ") }

// disagreements compares messages and constants with the headers, in both directions.
func disagreements(h *headers, table []Selector, constants []constant) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	used := map[string]bool{}
	for i := range table {
		s := &table[i]
		name := s.Class + " " + s.Name
		tag, d, ok := h.find(s)
		if used[tag] = true; ok == (undeclared[name] != "") {
			say("%s: either a row of testdata/metal_api.tsv (from Apple's headers) or a reason in undeclared", name)
		}
		if !ok {
			continue
		}
		args := make([]Type, len(d.args))
		for i, kind := range d.args {
			args[i] = h.encoding(kind)
		}
		if result := h.encoding(d.result); !slices.Equal(args, s.Args) || result != s.Return {
			say("%s takes %q giving %q; Apple's headers have %q giving %q", name, s.Args, s.Return, d.args, d.result)
		}
	}
	for tag := range h.messages {
		if !used[tag] {
			say("%s: nobody sends it", tag)
		}
	}
	enums := map[string]bool{}
	for _, c := range constants {
		want := int64(0)
		for enumerator := range strings.SplitSeq(c.apple, " | ") {
			v, ok := h.values[enumerator]
			if enums[h.of[enumerator]] = true; !ok {
				say("%s: Apple's headers have no %s", c.name, enumerator)
			}
			want |= v
		}
		if c.value != want {
			say("%s is %d; Apple's headers have %s = %d", c.name, c.value, c.apple, want)
		}
	}
	for name := range h.enums {
		if !enums[name] {
			say("enum %s: nobody sends a value of it", name)
		}
	}
	return list
}

func appleHeaders(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/metal_api.tsv")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHeaders checks the table of messages and the constants against Apple's headers.
func TestHeaders(t *testing.T) {
	h, err := readHeaders(appleHeaders(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range disagreements(h, Selectors, constants) {
		t.Error(d)
	}
	for name := range undeclared {
		if _, err := row(name); err != nil {
			t.Errorf("undeclared: %v", err)
		}
	}
}

// TestHeadersNotice checks that a change of any field of any row of the headers is noticed, so that the same
// mistake in the runtime's table would be noticed, too.
func TestHeadersNotice(t *testing.T) {
	text := appleHeaders(t)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for what, bent := range bend(strings.TrimSuffix(line, "\n")) {
			if what == "the type" && strings.HasPrefix(line, "enum CommandBufferError\t") {
				continue // no message has it: the code of an NSError has a type of its own
			}
			h, err := readHeaders(strings.Replace(text, line, bent+"\n", 1))
			if err == nil && len(disagreements(h, Selectors, constants)) == 0 {
				t.Errorf("nobody notices that %s of %q is bent: %q", what, line, bent)
			}
		}
	}
}
