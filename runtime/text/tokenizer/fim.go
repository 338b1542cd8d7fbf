package tokenizer

import "slices"

// FIM is the control tokens for filling in the middle of a text; -1: absent. The first three are necessary.
type FIM struct {
	Prefix, Suffix, Middle int32 // before the preceding text, the following text, and the answer
	Repo, File             int32 // before a project's name, and before each file's name
	Pad                    int32
}

// Known says whether a model can fill in a middle.
func (f FIM) Known() bool { return f.Prefix >= 0 && f.Suffix >= 0 && f.Middle >= 0 }

// Ends says whether a token ends an answer that fills in a middle.
func (f FIM) Ends(id int32) bool {
	return id >= 0 && slices.Contains([]int32{f.Prefix, f.Suffix, f.Middle, f.Repo, f.File, f.Pad}, id)
}

// fimRole is one of these tokens: the keys of a file that name it, newest first, and its names in models
// whose files have no key.
type fimRole struct {
	at    func(*FIM) *int32
	keys  []string
	names []string
}

// fimRoles have llama.cpp's names.
var fimRoles = []fimRole{
	{func(f *FIM) *int32 { return &f.Prefix }, []string{"fim_pre_token_id", "prefix_token_id"},
		[]string{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>", "<|prefix|>"}},
	{func(f *FIM) *int32 { return &f.Suffix }, []string{"fim_suf_token_id", "suffix_token_id"},
		[]string{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>", "<|suffix|>"}},
	{func(f *FIM) *int32 { return &f.Middle }, []string{"fim_mid_token_id", "middle_token_id"},
		[]string{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>", "<|middle|>"}},
	{func(f *FIM) *int32 { return &f.Repo }, []string{"fim_rep_token_id"}, []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}},
	{func(f *FIM) *int32 { return &f.File }, []string{"fim_sep_token_id"}, []string{"<|file_sep|>"}},
	{func(f *FIM) *int32 { return &f.Pad }, []string{"fim_pad_token_id"}, []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>"}},
}

// noFIM has no token.
var noFIM = FIM{-1, -1, -1, -1, -1, -1}

// FIM is the fill-in-the-middle tokens of the vocabulary.
func (t *Tokenizer) FIM() FIM { return t.fim }

// findFIM uses the tokens that the file's keys name, else those with known names.
func (t *Tokenizer) findFIM() {
	t.fim = t.vocab.FIM
	for _, role := range fimRoles {
		at := role.at(&t.fim)
		for _, name := range role.names {
			id, ok := t.ids[name]
			if *at < 0 && ok && t.vocab.typeOf(int(id)) != TypeNormal { // plain text may contain a normal token's name
				*at = id
			}
		}
	}
}
