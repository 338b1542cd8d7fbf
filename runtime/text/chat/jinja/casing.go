package jinja

import (
	"strings"
	"unicode"
)

// longUpper is Unicode's case mappings to several letters: SpecialCasing.txt without the mappings that depend
// on the language. Package unicode has only those to a single letter.
var longUpper = map[rune]string{
	'\u00df': "\u0053\u0053", '\u0149': "\u02bc\u004e", '\u01f0': "\u004a\u030c", '\u0390': "\u0399\u0308\u0301",
	'\u03b0': "\u03a5\u0308\u0301", '\u0587': "\u0535\u0552", '\u1e96': "\u0048\u0331", '\u1e97': "\u0054\u0308",
	'\u1e98': "\u0057\u030a", '\u1e99': "\u0059\u030a", '\u1e9a': "\u0041\u02be", '\u1f50': "\u03a5\u0313",
	'\u1f52': "\u03a5\u0313\u0300", '\u1f54': "\u03a5\u0313\u0301", '\u1f56': "\u03a5\u0313\u0342", '\u1f80': "\u1f08\u0399",
	'\u1f81': "\u1f09\u0399", '\u1f82': "\u1f0a\u0399", '\u1f83': "\u1f0b\u0399", '\u1f84': "\u1f0c\u0399", '\u1f85': "\u1f0d\u0399",
	'\u1f86': "\u1f0e\u0399", '\u1f87': "\u1f0f\u0399", '\u1f88': "\u1f08\u0399", '\u1f89': "\u1f09\u0399", '\u1f8a': "\u1f0a\u0399",
	'\u1f8b': "\u1f0b\u0399", '\u1f8c': "\u1f0c\u0399", '\u1f8d': "\u1f0d\u0399", '\u1f8e': "\u1f0e\u0399", '\u1f8f': "\u1f0f\u0399",
	'\u1f90': "\u1f28\u0399", '\u1f91': "\u1f29\u0399", '\u1f92': "\u1f2a\u0399", '\u1f93': "\u1f2b\u0399", '\u1f94': "\u1f2c\u0399",
	'\u1f95': "\u1f2d\u0399", '\u1f96': "\u1f2e\u0399", '\u1f97': "\u1f2f\u0399", '\u1f98': "\u1f28\u0399", '\u1f99': "\u1f29\u0399",
	'\u1f9a': "\u1f2a\u0399", '\u1f9b': "\u1f2b\u0399", '\u1f9c': "\u1f2c\u0399", '\u1f9d': "\u1f2d\u0399", '\u1f9e': "\u1f2e\u0399",
	'\u1f9f': "\u1f2f\u0399", '\u1fa0': "\u1f68\u0399", '\u1fa1': "\u1f69\u0399", '\u1fa2': "\u1f6a\u0399", '\u1fa3': "\u1f6b\u0399",
	'\u1fa4': "\u1f6c\u0399", '\u1fa5': "\u1f6d\u0399", '\u1fa6': "\u1f6e\u0399", '\u1fa7': "\u1f6f\u0399", '\u1fa8': "\u1f68\u0399",
	'\u1fa9': "\u1f69\u0399", '\u1faa': "\u1f6a\u0399", '\u1fab': "\u1f6b\u0399", '\u1fac': "\u1f6c\u0399", '\u1fad': "\u1f6d\u0399",
	'\u1fae': "\u1f6e\u0399", '\u1faf': "\u1f6f\u0399", '\u1fb2': "\u1fba\u0399", '\u1fb3': "\u0391\u0399", '\u1fb4': "\u0386\u0399",
	'\u1fb6': "\u0391\u0342", '\u1fb7': "\u0391\u0342\u0399", '\u1fbc': "\u0391\u0399", '\u1fc2': "\u1fca\u0399",
	'\u1fc3': "\u0397\u0399", '\u1fc4': "\u0389\u0399", '\u1fc6': "\u0397\u0342", '\u1fc7': "\u0397\u0342\u0399",
	'\u1fcc': "\u0397\u0399", '\u1fd2': "\u0399\u0308\u0300", '\u1fd3': "\u0399\u0308\u0301", '\u1fd6': "\u0399\u0342",
	'\u1fd7': "\u0399\u0308\u0342", '\u1fe2': "\u03a5\u0308\u0300", '\u1fe3': "\u03a5\u0308\u0301", '\u1fe4': "\u03a1\u0313",
	'\u1fe6': "\u03a5\u0342", '\u1fe7': "\u03a5\u0308\u0342", '\u1ff2': "\u1ffa\u0399", '\u1ff3': "\u03a9\u0399",
	'\u1ff4': "\u038f\u0399", '\u1ff6': "\u03a9\u0342", '\u1ff7': "\u03a9\u0342\u0399", '\u1ffc': "\u03a9\u0399",
	'\ufb00': "\u0046\u0046", '\ufb01': "\u0046\u0049", '\ufb02': "\u0046\u004c", '\ufb03': "\u0046\u0046\u0049",
	'\ufb04': "\u0046\u0046\u004c", '\ufb05': "\u0053\u0054", '\ufb06': "\u0053\u0054", '\ufb13': "\u0544\u0546",
	'\ufb14': "\u0544\u0535", '\ufb15': "\u0544\u053b", '\ufb16': "\u054e\u0546", '\ufb17': "\u0544\u053d",
}

// longTitle is such mappings for the beginning of a word.
var longTitle = map[rune]string{
	'\u00df': "\u0053\u0073", '\u0149': "\u02bc\u004e", '\u01f0': "\u004a\u030c", '\u0390': "\u0399\u0308\u0301",
	'\u03b0': "\u03a5\u0308\u0301", '\u0587': "\u0535\u0582", '\u1e96': "\u0048\u0331", '\u1e97': "\u0054\u0308",
	'\u1e98': "\u0057\u030a", '\u1e99': "\u0059\u030a", '\u1e9a': "\u0041\u02be", '\u1f50': "\u03a5\u0313",
	'\u1f52': "\u03a5\u0313\u0300", '\u1f54': "\u03a5\u0313\u0301", '\u1f56': "\u03a5\u0313\u0342", '\u1fb2': "\u1fba\u0345",
	'\u1fb4': "\u0386\u0345", '\u1fb6': "\u0391\u0342", '\u1fb7': "\u0391\u0342\u0345", '\u1fc2': "\u1fca\u0345",
	'\u1fc4': "\u0389\u0345", '\u1fc6': "\u0397\u0342", '\u1fc7': "\u0397\u0342\u0345", '\u1fd2': "\u0399\u0308\u0300",
	'\u1fd3': "\u0399\u0308\u0301", '\u1fd6': "\u0399\u0342", '\u1fd7': "\u0399\u0308\u0342", '\u1fe2': "\u03a5\u0308\u0300",
	'\u1fe3': "\u03a5\u0308\u0301", '\u1fe4': "\u03a1\u0313", '\u1fe6': "\u03a5\u0342", '\u1fe7': "\u03a5\u0308\u0342",
	'\u1ff2': "\u1ffa\u0345", '\u1ff4': "\u038f\u0345", '\u1ff6': "\u03a9\u0342", '\u1ff7': "\u03a9\u0342\u0345",
	'\ufb00': "\u0046\u0066", '\ufb01': "\u0046\u0069", '\ufb02': "\u0046\u006c", '\ufb03': "\u0046\u0066\u0069",
	'\ufb04': "\u0046\u0066\u006c", '\ufb05': "\u0053\u0074", '\ufb06': "\u0053\u0074", '\ufb13': "\u0544\u0576",
	'\ufb14': "\u0544\u0565", '\ufb15': "\u0544\u056b", '\ufb16': "\u054e\u0576", '\ufb17': "\u0544\u056d",
}

func upper(text string) string { return mapped(text, longUpper, unicode.ToUpper) }

func mapped(text string, long map[rune]string, one func(rune) rune) string {
	var out strings.Builder
	for _, r := range text {
		if several, ok := long[r]; ok {
			out.WriteString(several)
		} else {
			out.WriteRune(one(r))
		}
	}
	return out.String()
}

// longLower is the only letter whose lower-case form has two characters.
var longLower = map[rune]string{'\u0130': "i\u0307"}

// lower also handles the sigma at the end of a word, which has a form of its own.
func lower(text string) string {
	if !strings.Contains(text, "Σ") {
		return mapped(text, longLower, unicode.ToLower)
	}
	var out strings.Builder
	letters := false // the text so far ends in letters, possibly followed by case-ignorable characters
	for i, r := range text {
		if r == 'Σ' && letters && !lettersFollow(text[i+len("Σ"):]) {
			out.WriteRune('ς')
		} else {
			out.WriteString(mapped(string(r), longLower, unicode.ToLower))
		}
		if !caseIgnorable(r) {
			letters = hasCase(r)
		}
	}
	return out.String()
}

func lettersFollow(text string) bool {
	for _, r := range text {
		if !caseIgnorable(r) {
			return hasCase(r)
		}
	}
	return false
}

func hasCase(r rune) bool { return unicode.IsLower(r) || unicode.IsUpper(r) || unicode.IsTitle(r) }

// caseIgnorable says whether a character within words has no case.
func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’․﹒﹕．：", r)
}

// title capitalises every run of letters.
func title(text string) string {
	var out strings.Builder
	within := false
	for _, r := range text {
		if within {
			out.WriteString(mapped(string(r), longLower, unicode.ToLower))
		} else {
			out.WriteString(mapped(string(r), longTitle, unicode.ToTitle))
		}
		within = hasCase(r)
	}
	return out.String()
}

func capitalize(text string) string {
	n := firstRune(text)
	return mapped(text[:n], longTitle, unicode.ToTitle) + lower(text[n:])
}

func swapCase(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			out.WriteString(mapped(string(r), longLower, unicode.ToLower))
		case unicode.IsLower(r):
			out.WriteString(mapped(string(r), longUpper, unicode.ToUpper))
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
