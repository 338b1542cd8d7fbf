#include "split.h"

#include <algorithm>
#include <map>
#include <set>

#include "head.h"
#include "tokens.h"

namespace msl {
namespace {

void add(std::vector<std::string> &to, const std::vector<std::string> &more) { to.insert(to.end(), more.begin(), more.end()); }

bool starts(const std::string &text, const char *with) { return text.rfind(with, 0) == 0; }

// A preprocessor line without its comments, and with one space where there were several.
std::vector<token> wordsOf(const token &directive) {
  std::string text = directive.text.substr(1);
  for (size_t at = 0; (at = text.find("\\\n", at)) != std::string::npos;) text.replace(at, 2, "  ");
  return tokenize_all(text);
}

std::string joined(const token &directive) {
  const std::vector<token> words = wordsOf(directive);
  std::string text = "#";
  size_t end = 0;
  for (const token &t : words) {
    if (end && t.begin > end) text += " ";
    text += t.text;
    end = t.end;
  }
  return text + "\n";
}

class Splitter {
 public:
  explicit Splitter(const std::string &source) : tokens_(tokenize_all(source)) {}

  std::vector<Declaration> run() {
    for (size_t i = 0; i < tokens_.size();) i = part(i);
    settle();
    return std::move(list_);
  }

 private:
  // The part that begins at token i; returns the token after it.
  size_t part(size_t i) {
    size_t end = i;
    std::vector<Head> heads;
    bool any = false;  // something in it belongs to every kernel
    if (tokens_[i].directive) {
      int depth = 0;
      do {
        if (tokens_[end].directive) {
          const std::string line = joined(tokens_[end]);
          if (starts(line, "#if")) ++depth;
          if (starts(line, "#endif")) --depth;
          heads.push_back(directive(end, any));
          ++end;
        } else {
          size_t next = end;
          heads.push_back(declaration(end, next, any));
          end = next;
        }
      } while (depth > 0 && end < tokens_.size());
    } else {
      heads.push_back(declaration(i, end, any));
    }
    record(i, end, heads, any);
    return end;
  }

  // #define and #undef are about a name. The lines that begin, part and end a group declare nothing,
  // and all others may mean something to every kernel.
  Head directive(size_t i, bool &any) const {
    Head h;
    const std::vector<token> words = wordsOf(tokens_[i]);
    const std::string what = words.empty() ? "" : words[0].text;
    if ((what == "define" || what == "undef") && words.size() > 1) h.names = {words[1].text};
    else if (!starts(what, "if") && !starts(what, "el") && what != "endif") any = true;
    return h;
  }

  // A declaration, or a bracket of a namespace.
  Head declaration(size_t i, size_t &end, bool &any) const {
    end = opensNamespace(i);
    if (end > i || tokens_[i].is("}") || tokens_[i].is(";")) {
      end = std::max(end, i + 1);
      any = true;
      return {};
    }
    end = endOf(i);
    std::vector<token> own;
    for (size_t j = i; j < end; j++)
      if (!tokens_[j].directive) own.push_back(tokens_[j]);
    Head h = headOf(own);
    any = any || (h.names.empty() && h.takes.empty());
    return h;
  }

  // The token after "namespace NAME {" or extern "C" {; i: there is none.
  size_t opensNamespace(size_t i) const {
    const bool linkage = tokens_[i].is("extern") && i + 1 < tokens_.size() && tokens_[i + 1].text[0] == '"';
    if (!tokens_[i].is("namespace") && !linkage) return i;
    for (size_t j = i + 1; j < tokens_.size() && j < i + 8; j++) {
      if (tokens_[j].is("{")) return j + 1;
      if (tokens_[j].is(";") || tokens_[j].is("(")) break;
    }
    return i;
  }

  // A declaration ends at a semicolon, that of a function at the bracket that closes its body.
  size_t endOf(size_t i) const {
    size_t j = i;
    while (j < tokens_.size() && tokens_[j].is("template")) j = pastAngles(tokens_, j + 1);
    bool type = false, value = false, function = false;
    for (int depth = 0; j < tokens_.size(); j++) {
      const token &t = tokens_[j];
      if (t.directive) continue;
      if (depth == 0) {
        type = type || isType(t.text);
        value = value || isValue(tokens_, j);
        function = function || (t.is("(") && j > i && is_identifier(tokens_[j - 1].text) && !isAttribute(tokens_[j - 1].text));
      }
      depth += stepOf(t);
      if (depth < 0) return j;  // the end of a namespace
      if (depth > 0) continue;
      if (t.is(";")) return j + 1;
      if (t.is("}") && !value && (function || !type)) return j + 1 < tokens_.size() && tokens_[j + 1].is(";") ? j + 2 : j + 1;
    }
    return j;
  }

  void record(size_t i, size_t end, const std::vector<Head> &heads, bool any) {
    Declaration d;
    d.begin = tokens_[i].begin;
    d.end = tokens_[end - 1].end;
    d.line = tokens_[i].line;
    d.opens = tokens_[i].directive ? 0 : tokens_[i].is("}") ? -1 : opensNamespace(i) > i;
    for (const Head &h : heads) {
      add(d.names, h.names);
      add(d.kernels, h.kernels);
      if (heads.size() == 1) d.takes = h.takes;
      structs_.insert(h.structs.begin(), h.structs.end());
    }
    if (any) d.names.clear();
    if (any) d.takes.clear();
    for (size_t j = i; j < end; j++) write(d, tokens_[j]);
    std::sort(d.words.begin(), d.words.end());
    d.words.erase(std::unique(d.words.begin(), d.words.end()), d.words.end());
    list_.push_back(std::move(d));
  }

  void write(Declaration &d, const token &t) {
    if (!t.directive) {
      if (is_identifier(t.text)) d.words.push_back(t.text);
      d.text += t.text + " ";
      return;
    }
    for (const token &word : wordsOf(t)) {
      if (is_identifier(word.text)) d.words.push_back(word.text);
      if (word.directive) glued_ = true;
    }
    d.text += "\n" + joined(t);
  }

  // What needs to be known of all declarations: which words are structs, and which names are
  // declared more than once. Where macros make words, no part can be left out.
  void settle() {
    std::map<std::string, int> count;
    for (const Declaration &d : list_)
      for (const auto &name : std::set<std::string>(d.names.begin(), d.names.end())) ++count[name];
    for (Declaration &d : list_) {
      const bool alone = !d.names.empty() && std::all_of(d.names.begin(), d.names.end(), [&](const std::string &name) { return count[name] == 1; });
      std::vector<std::string> takes;
      for (const auto &word : d.takes)
        if (!alone && structs_.count(word) && std::find(d.names.begin(), d.names.end(), word) == d.names.end()) takes.push_back(word);
      d.takes = std::move(takes);
      if (glued_) d.names.clear(), d.takes.clear();
    }
  }

  std::vector<token> tokens_;
  std::vector<Declaration> list_;
  std::set<std::string> structs_;
  bool glued_ = false;  // a macro has # or ##
};

}  // namespace

std::vector<Declaration> split(const std::string &source) { return Splitter(source).run(); }

}  // namespace msl
