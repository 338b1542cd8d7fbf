package hub

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is a file of a repository.
type file struct {
	path string // relative to the repository, with slashes
	size int64  // bytes
	etag string // sha256 of the content, or git's sha1 for a file outside LFS; "" for a file in the cache
}

// model is a model file, or all parts of a split one in order.
type model struct {
	name
	files []file
}

// name is what the names of a model's files have in common.
type name struct {
	stem  string // path without .gguf and the number of a part
	parts int    // number of parts that the names state; 0: it is not split
}

// part is the path of a part; parts are numbered from 1.
func (n name) part(i int) string {
	if n.parts == 0 {
		return n.stem + ".gguf"
	}
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", n.stem, i, n.parts)
}

// preferred lists the quantisations to choose from by default, best first: as good as the original for most
// uses, at a third of the size.
var preferred = []string{"Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q6_K", "Q8_0", "BF16", "F16"}

var partName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// companions are parts of the names of files that come with models but are none.
var companions = []string{"mmproj", "imatrix"}

// models groups files into models, by name.
func models(files []file) []model {
	byName := map[name]*model{}
	for _, f := range files {
		if !isModel(f.path) || slices.ContainsFunc(companions, func(c string) bool { return strings.HasPrefix(strings.ToLower(path.Base(f.path)), c) }) {
			continue
		}
		n := name{stem: strings.TrimSuffix(f.path, ".gguf")}
		if m := partName.FindStringSubmatch(f.path); m != nil {
			n.stem = m[1]
			n.parts, _ = strconv.Atoi(m[3]) // always five digits
		}
		if byName[n] == nil {
			byName[n] = &model{name: n}
		}
		byName[n].files = append(byName[n].files, f)
	}
	list := make([]model, 0, len(byName))
	for _, m := range byName {
		slices.SortFunc(m.files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b model) int { return cmp.Compare(a.files[0].path, b.files[0].path) })
	return list
}

// whole fails if parts are missing or superfluous.
func (m *model) whole() error {
	for i, f := range m.files {
		if want := m.part(i + 1); f.path != want {
			return fmt.Errorf("%s is not there, though %s is", want, f.path)
		}
	}
	if len(m.files) < m.parts {
		return fmt.Errorf("%s has %d of %d parts", m.stem, len(m.files), m.parts)
	}
	return nil
}

// matchers say whether a model has a quantisation (in capitals), strictest first: at the end of its name, as
// the name of its folder, anywhere in its name.
var matchers = []func(m *model, quant string) bool{
	func(m *model, quant string) bool {
		before, ends := strings.CutSuffix(strings.ToUpper(path.Base(m.stem)), quant)
		return ends && (before == "" || strings.Contains("-._", before[len(before)-1:]))
	},
	func(m *model, quant string) bool {
		return slices.Contains(strings.Split(strings.ToUpper(path.Dir(m.stem)), "/"), quant)
	},
	func(m *model, quant string) bool {
		return slices.Contains(strings.FieldsFunc(strings.ToUpper(path.Base(m.stem)), func(r rune) bool { return r == '-' || r == '.' }), quant)
	},
}

// choose returns the model with a quantisation or a file name; "": the first of preferred that exists, or the
// only model.
func choose(files []file, quant string) (*model, error) {
	list := models(files)
	switch {
	case len(list) == 0:
		return nil, none(files)
	case isModel(quant):
		for i := range list {
			if slices.ContainsFunc(list[i].files, func(f file) bool { return f.path == quant }) {
				return &list[i], list[i].whole()
			}
		}
		return nil, fmt.Errorf("there is no %s; there are %s", quant, names(list))
	case quant != "":
		return only(list, quant)
	}
	for _, q := range preferred {
		if m, err := only(list, q); m != nil || err != nil && matching(list, q) != nil {
			return m, err
		}
	}
	if len(list) > 1 {
		return nil, fmt.Errorf("say which one after a colon; there are %s", names(list))
	}
	return &list[0], list[0].whole()
}

// only returns the single model of a quantisation.
func only(list []model, quant string) (*model, error) {
	found := matching(list, quant)
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no GGUF file is of %s; there are %s", quant, names(list))
	case 1:
		if err := found[0].whole(); err != nil {
			return nil, err
		}
		return &found[0], nil
	}
	return nil, fmt.Errorf("%s could be each of %s: give the name of the file", quant, names(found))
}

// matching lists the models with a quantisation, by the strictest matcher that finds any.
func matching(list []model, quant string) (found []model) {
	for _, matches := range matchers {
		for _, m := range list {
			if matches(&m, strings.ToUpper(quant)) {
				found = append(found, m)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// mostNames is the most names that an error lists.
const mostNames = 24

func names(list []model) string {
	var text []string
	for _, m := range list[:min(len(list), mostNames)] {
		text = append(text, m.files[0].path)
	}
	if n := len(list) - mostNames; n > 0 {
		text = append(text, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(text, ", ")
}

// none says why a repository has no model to run.
func none(files []file) error {
	for _, f := range files {
		if strings.Contains(f.path, ".gguf") && !isModel(f.path) {
			return fmt.Errorf("%s is a piece of a GGUF file that was cut by bytes, which cannot be read as it is: load the pieces and join them with cat", f.path)
		}
	}
	return errors.New("the repository has no GGUF file; look for one whose name ends in GGUF")
}
