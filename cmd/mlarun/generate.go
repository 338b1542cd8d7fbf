package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mla/runtime/device"
	"mla/runtime/device/blas"
	"mla/runtime/device/linalg"
	"mla/runtime/engine"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
	"mla/runtime/plan/planjson"
	"mla/runtime/system/buildinfo"
	"mla/runtime/text/chat"
	"mla/runtime/text/tokenizer"
)

// settings are the flags of the default command.
type settings struct {
	*flags
	sampling *sampling
	form     *form
	source   *source
	max      int
	context  int
	parallel int
	system   string
	chat     bool
	raw      bool // continue the text without a chat template
	think    string
	thinks   thinking
	template string // path of a file
	history  string
	special  bool
	verbose  bool
	version  bool

	promptCache string
	kept        *kept
}

// generateArgs are the arguments of the default command.
const generateArgs = "-model F [-p TEXT | -f FILE | -] [flags]"

func newSettings(e *env) *settings {
	f := newFlags(e, "mlarun", generateArgs,
		"The text is a message to the model, in the chat template of its file, and only the",
		"answer is printed. A file without a template, or -raw, continues the text as it is.",
		"A text may also be piped to mlarun. Without one, on a terminal, mlarun chats.").running()
	f.after = "\nOther commands\n" + commandLines() + "\nExit codes: " + exitCodes + "\n"
	s := &settings{flags: f, sampling: newSampling(f).stopFlag(), form: newForm(f), source: f.source("`text` of a message, or to continue")}
	f.IntVar(&s.max, "n", 128, "`tokens` to generate; -1: until the model ends or the context is full (default 128; -1 for answers)")
	f.IntVar(&s.context, "c", 0, "`tokens` of context (default: as many as the model has and memory allows)")
	f.IntVar(&s.parallel, "parallel", 0, "take every line of the text as a prompt of its own, `N` at a time: a message, or with -raw a text to continue. A line is a prompt or an object like {\"prompt\": \"Once\", \"n\": 20, \"temp\": 0, \"seed\": 1, \"stop\": [\"\\n\"]}, and so are the lines of the output, in the same order")
	f.drafts()
	f.StringVar(&s.promptCache, "prompt-cache", "", "`file` that keeps what a prompt has left in the caches: a later prompt of the same model that begins alike goes on from there. It is written anew when it lacked more than an eighth of the prompt")
	f.StringVar(&s.system, "sys", "", "system `message`: how the model is to answer")
	f.BoolVar(&s.chat, "chat", false, "chat; the text, if any, is the first message")
	f.BoolVar(&s.raw, "raw", false, "continue the text as it is, without the chat template of the file")
	f.StringVar(&s.think, "think", "", "`how` models that think do so in a chat: "+thinkUsage+" (default: as the template has it, shown where the answer goes to a terminal)")
	f.StringVar(&s.history, "history", "", "`file` that keeps what was said in chats on a terminal; off: none (default: mla/history in the state folder, ~/.local/state)")
	s.templateFlag(&s.template)
	f.BoolVar(&s.special, "special", false, "read the names of control tokens in a text to continue as tokens")
	f.BoolVar(&s.verbose, "v", false, "print how many dispatches a token takes, which inner loops the CPU runs, how much of the kernels was compiled, how fast the file was loaded, and the GPU's share of the time")
	f.BoolVar(&s.version, "version", false, "print the version and the compiled bundles")
	return s
}

// generate continues a text, answers a message or starts a chat.
func generate(e *env, args []string) (err error) {
	s := newSettings(e)
	rest, err := s.parse(args)
	if err != nil {
		return err
	}
	if s.version {
		return printVersion(e)
	}
	stdin, err := s.positional(rest)
	if err != nil {
		return err
	}
	s.source.chat = s.chat && s.parallel == 0
	text, given, err := s.source.read(s.flags, stdin)
	if err != nil {
		return err
	}
	if err := s.check(given); err != nil {
		return err
	}
	if s.parallel > 0 {
		return s.batch(text)
	}
	m, err := s.loadFor(func(eng *engine.Engine) (capacity, error) { return s.capacityFor(eng, s.context, 1, eng.Free()) })
	if err != nil {
		return err
	}
	defer closing(m, &err)
	if m.Session, err = m.model.NewSession(); err != nil {
		return err
	}
	s.sampling.recommended(m.engine.File())
	if s.kept, err = s.openCache(m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.kept.save()) }()
	if err := s.describe(m); err != nil {
		return err
	}
	messages, err := s.takesMessages(m.engine)
	if err != nil {
		return err
	}
	if !messages {
		return s.complete(m, text)
	}
	c, err := newConversation(s, m)
	if err != nil {
		return err
	}
	if s.chat {
		return c.repl(text)
	}
	return c.once(text)
}

// takesMessages says whether a text is a message: it is if there is a chat template and the user does not ask
// for a plain continuation. Answers have no limit of tokens unless -n sets one.
func (s *settings) takesMessages(eng *engine.Engine) (bool, error) {
	messages := s.chat || s.system != "" || s.template != ""
	if !messages && !s.raw && !s.special {
		t, err := eng.Tokenizer()
		if err != nil {
			return false, err
		}
		messages = t.ChatTemplate() != "" || formatted(eng, t)
	}
	if messages && !s.given("n") {
		s.max = -1
	}
	return messages, nil
}

// formatted says whether the spec of a bundle names a chat format, for files without a template.
func formatted(eng *engine.Engine, t *tokenizer.Tokenizer) bool {
	r, err := chatFormat(eng, t, "")
	return err == nil && hasFormat(r) == nil
}

// describe prints the details of -v before the first token.
func (s *settings) describe(m *loaded) error {
	if !s.verbose {
		return nil
	}
	s.note("dispatches per token: %d\nCPU inner loops: %s\n", m.model.Dispatches(), linalg.Backend())
	s.note("%s", m.faster())
	if said := blas.Said(); said != "" {
		s.note("CPU matrix library: %s\n", said)
	}
	c, ok, err := m.model.Compilation()
	if ok && err == nil {
		s.note("compiled: %s\n", c)
	}
	return err
}

// positional reads the arguments that are not flags.
func (s *settings) positional(rest []string) (stdin bool, err error) {
	for _, arg := range rest {
		if arg != "-" {
			return false, s.wrong("unexpected argument %q; a text goes after -p", arg)
		}
		stdin = true
	}
	if s.model == "" {
		return false, s.wrong("-model is missing")
	}
	return stdin, nil
}

// check checks the combination of flags. On a terminal the default is a chat.
func (s *settings) check(text bool) error {
	_, interactive := terminal(s.env.in)
	switch {
	case s.given("parallel") && (s.parallel < 1 || s.parallel > device.MaxTables):
		return s.wrong("-parallel is %d; expected 1 to %d", s.parallel, device.MaxTables)
	case s.form.grammar != "" && s.form.schema != "":
		return s.wrong("-grammar and -json-schema cannot be used together")
	case s.raw && (s.chat || s.system != "" || s.template != ""):
		return s.wrong("-raw continues a text without a chat template; -chat, -sys and -chat-template are for messages")
	case s.parallel > 0 && !text:
		return s.wrong("-parallel continues the lines of -f, -p or -")
	case !text && interactive && s.raw:
		return s.wrong("-raw continues a text: give -p, -f or -")
	case !text && interactive:
		s.chat = true
	case !text && !s.chat:
		return s.wrong("no text: give -p, -f or -, or -chat")
	case s.context < 0:
		return s.wrong("-c is %d; expected 1 or more", s.context)
	case s.max < -1:
		return s.wrong("-n is %d; expected -1 or more", s.max)
	}
	s.thinks = thinking{budget: -1}
	if s.think != "" {
		var err error
		if s.thinks, err = parseThinking(s.think, s.thinks); err != nil {
			return s.wrong("-think %v", err)
		}
	}
	if err := s.checkDraft(); err != nil {
		return err
	}
	if err := s.sampling.check(s.flags); err != nil || s.promptCache == "" {
		return err
	}
	return promptcache.Check(s.promptCache) // fail before a long prompt is run
}

// once answers a single message.
func (c *conversation) once(text string) error {
	c.messages = append(c.messages, chat.Message{Role: chat.User, Content: text})
	ctx, stop := interruptible()
	defer stop()
	res, err := c.answer(ctx)
	c.settings.finish(c.loaded, res, true)
	return err
}

// finish ends the output and prints the timings if anything was generated. An answer ends with a line break.
// A continued text ends as it is, unless it goes to a terminal.
func (s *settings) finish(m *loaded, res engine.Result, answer bool) {
	if res.Reason == "" || res.Reason == engine.ReasonError {
		return
	}
	if _, ok := terminal(s.env.out); ok || answer {
		fmt.Fprintln(s.env.out)
	}
	load := fmt.Sprintf("load %.2f s", m.load.Seconds())
	if s.verbose {
		load += fmt.Sprintf(", %.2f GB/s", float64(m.fileBytes())/m.load.Seconds()/1e9)
	}
	parts := append([]string{load}, s.timings(res)...)
	parts = append(parts, fmt.Sprintf("seed %d", s.sampling.seed), "end: "+string(res.Reason))
	s.note("\n%s\n", strings.Join(parts, " · "))
}

// timings describes how long an answer took, and how many drafted tokens were accepted.
func (s *settings) timings(res engine.Result) []string {
	prompt := fmt.Sprintf("prompt %s%s", counted(res.Prompt.Tokens, "token"), perSecond(res.Prompt))
	if res.Reused > 0 {
		prompt += fmt.Sprintf(" (%d more reused)", res.Reused)
	}
	parts := []string{prompt}
	if res.FirstToken > 0 {
		parts = append(parts, "first token "+seconds(res.FirstToken))
	}
	parts = append(parts, fmt.Sprintf("generated %s%s", counted(len(res.Tokens), "token"), perSecond(res.Decode)))
	if res.Drafted > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d drafted tokens right", res.Accepted, res.Drafted))
	}
	if d := res.Drafts; s.verbose && d.Rounds > 0 {
		n := time.Duration(d.Rounds)
		parts = append(parts, fmt.Sprintf("%s, each %v to draft and %v to run; a token alone %v: they pay from %.2f right a round; %v to catch up",
			counted(d.Rounds, "draft"), (d.Guessing/n).Round(time.Microsecond), (d.Running/n).Round(time.Microsecond), (d.Alone/n).Round(time.Microsecond), d.BreakEven(), d.CatchingUp.Round(time.Microsecond)))
	}
	if s.verbose && res.Decode.GPU > 0 {
		parts = append(parts, "per token "+shares(res.Decode))
	}
	return parts
}

// counted returns a number and a noun, with a plural s where needed.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// perSecond returns a speed to be written after a number of tokens. It is "" if no token was run: the first
// generated token follows from the prompt's logits.
func perSecond(t engine.Timing) string {
	if t.Tokens == 0 {
		return ""
	}
	return fmt.Sprintf(", %.2f tok/s", t.PerSecond())
}

// seconds formats a waiting time, which may be very short.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// shares splits the time of a token into the GPU's share and the rest: the host's share and the transfers
// between the two.
func shares(t engine.Timing) string {
	perToken := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(max(t.Tokens, 1)) }
	return fmt.Sprintf("GPU %.3f ms, host %.3f ms", perToken(t.GPU), perToken(max(t.Elapsed-t.GPU, 0)))
}

// answerCapacity is how many tokens are kept free for an answer without a limit.
const answerCapacity = 512

// explain adds the remedies to an error.
func (s *settings) explain(err error, e *engine.Engine) error {
	var full *engine.ContextError
	var mute *engine.NoTokenError
	switch most := e.MaxContext(); {
	case errors.As(err, &mute) && e.Bundle().Activations == plan.ElemF16:
		return fmt.Errorf("%w; activations may have left the range of halves; try -act f32", err)
	case !errors.As(err, &full):
		return err
	case full.Tokens < most:
		capacity := s.max
		if capacity < 0 {
			capacity = answerCapacity
		}
		return fmt.Errorf("%w; -c %d has room for it and an answer (the model allows %d)", err, min(full.Tokens+min(capacity, most), most), most)
	default:
		return fmt.Errorf("%w, and the model allows no more than %d", err, most)
	}
}

// printVersion prints the program's version, and its bundles with their hashes.
func printVersion(e *env) error {
	text := buildinfo.Line("mlarun") + "\nbundles:\n"
	for _, b := range e.bundles {
		hash, err := planjson.Hash(b)
		if err != nil {
			return err
		}
		text += fmt.Sprintf("  %.12s %s\n", hash, b.Name)
	}
	_, err := io.WriteString(e.out, text)
	return err
}
