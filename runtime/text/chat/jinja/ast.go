package jinja

// expr is an expression.
type expr interface {
	eval(s *state, sc *scope) Value
}

// node is a statement. Its result says how the surrounding statements continue.
type node interface {
	exec(s *state, sc *scope) flow
}

// flow is how execution continues after a statement.
type flow int

const (
	goOn flow = iota
	toBreak
	toContinue
)

// Expressions.
type (
	constant struct{ value Value }
	nameExpr struct{ name string }
	listExpr struct {
		items []expr
		tuple bool
	}
	dictExpr struct{ keys, values []expr }
	unary    struct {
		op string
		x  expr
	}
	binary struct {
		op   string
		x, y expr
	}
	logic struct {
		and  bool
		x, y expr
	}
	comparison struct {
		x   expr
		ops []operand
	}
	concat      struct{ parts []expr }
	conditional struct{ test, yes, no expr } // no may be nil
	attribute   struct {
		x    expr
		name string
	}
	subscript struct{ x, key expr }
	sliceExpr struct{ x, start, stop, step expr } // each but x may be nil
	call      struct {
		f    expr
		args arguments
	}
	filterExpr struct {
		x    expr // nil: the output of the block
		name string
		args arguments
	}
	testExpr struct {
		x    expr
		name string
		args arguments
		not  bool
	}
	// span is a slice among several subscripts, which no value here supports.
	span struct{}
)

// operand is one operand of a comparison.
type operand struct {
	op string
	x  expr
}

// arguments is the arguments of a call, unevaluated.
type arguments struct {
	list     []expr
	names    []string // of named
	named    []expr
	star     expr // *args
	starstar expr // **kwargs
}

// target is the left side of an assignment: a name, an attribute of a namespace, or several targets.
type target struct {
	name, attr string
	list       []target
}

// Statements.
type (
	textNode  struct{ text string }
	printNode struct {
		x    expr
		line int
	}
	setNode struct {
		to   target
		x    expr
		line int
	}
	setBlock struct {
		to     target
		filter expr // nil: none
		body   []node
		line   int
	}
	ifNode struct {
		tests  []expr
		bodies [][]node
		other  []node
		line   int
	}
	forNode struct {
		to        target
		over      expr
		test      expr // nil: none
		body      []node
		other     []node
		recursive bool
		line      int
	}
	withNode struct {
		targets []target
		values  []expr
		body    []node
		line    int
	}
	macroNode struct {
		name     string
		params   []string
		defaults []expr // of the last params
		body     []node
		// Which of Python's names for the remaining arguments the body uses.
		caller, kwargs, varargs bool
		line                    int
	}
	callNode struct {
		call *call
		body *macroNode
		line int
	}
	filterNode struct {
		filter expr
		body   []node
		line   int
	}
	doNode struct {
		x    expr
		line int
	}
	generationNode struct {
		body []node
		line int
	}
	jumpNode struct{ to flow }
)
