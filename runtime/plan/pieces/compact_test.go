package pieces

import "testing"

// TestCompact wants what a compiler reads to stay, and nothing more.
func TestCompact(t *testing.T) {
	const macros = "#define SOON(rows, bytes)\n#define DONE\n#define FULL 1\n#define TWO(a) a, a\n"
	c := newCompactor(macros)
	for _, tt := range []struct{ name, text, want string }{
		{"comments and empty lines", "// a\n\n  \nint b; // c\n//d\n", "int b;\n"},
		{"indentation", "if (a) {\n    b(c, d);\n\t}\n", "if(a){\nb(c,d);\n}\n"},
		{"words", "device const  uchar * w\n", "device const uchar*w\n"},
		{"numbers and names", "return 4u * least;\n", "return 4u*least;\n"},
		{"signs of their own", "a = -b - -c + +d;\n", "a= -b- -c+ +d;\n"},
		{"operators", "x = a & &b; y = c < ::d; z = e > > f;\n", "x=a& &b;y=c< ::d;z=e> >f;\n"},
		{"what may be an exponent", "x = 0x1e + a - 1e - b; y = 0xp + c; z = 3E - d - P;\n", "x=0x1e +a-1e -b;y=0xp +c;z=3E -d-P;\n"},
		{"brackets", "f<g<1> > ( -a) [ 2 ] { b } , c ;\n", "f<g<1> >(-a)[2]{b},c;\n"},
		{"the end without a line's", "a ; ", "a;\n"},
		{"letters", "a z A Z _ 0 9\n", "a z A Z _ 0 9\n"},
		{"what stands beside letters and digits", "a / b : c @ d [ e ` f { g\n", "a/b:c@d[e`f{g\n"},
		{"a line that begins with an operator", "a\n  - b;\n", "a\n-b;\n"},
		{"quotes", "  string s = \"a  //  b\"; // c\n  char c = ' ';\n", "  string s = \"a  //  b\"; // c\n  char c = ' ';\n"},
		{"an apostrophe in a comment", "  a b; // it's c\n", "a b;\n"},
		{"directives", "  #if A  >  1 // b\n a  b ;\n#define C(x) \\\n  (x)  + \\\n  1\n a  b ;\n", "  #if A  >  1 // b\na b;\n#define C(x) \\\n  (x)  + \\\n  1\na b;\n"},
		{"macros that stand for nothing", "{\n  SOON(w + (1), f(2));\n  DONE; // now\n}\nSOON(a, b) ;\n", "{\n}\n"},
		{"other macros", "FULL;\nTWO(a);\nSOONER(a);\n", "FULL;\nTWO(a);\nSOONER(a);\n"},
		{"more than the macro", "SOON(a, b); c(d);\nSOON(a, b) + (c);\nif (a) DONE;\n", "SOON(a,b);c(d);\nSOON(a,b)+(c);\nif(a)DONE;\n"},
		{"a branch of an if", "if (a)\n  DONE;\nelse\n  DONE;\nDONE;\n", "if(a)\nDONE;\nelse\nDONE;\n"},
	} {
		if got := c.compact(tt.text); got != tt.want {
			t.Errorf("%s: %q; expected %q", tt.name, got, tt.want)
		}
		if got := c.compact(tt.want); got != tt.want {
			t.Errorf("%s: once more: %q", tt.name, got)
		}
	}
	if got, err := Parse(macros + "//: a\n  DONE;\n  x = 1;\n").Cut([]string{"a"}); err != nil || got != macros+"x=1;\n" {
		t.Errorf("a source: %q, %v", got, err)
	}
}
