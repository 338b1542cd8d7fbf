#include "head.h"

#include <algorithm>

namespace msl {
namespace {

class Reader {
 public:
  explicit Reader(const std::vector<token> &tokens) : tokens_(tokens) {}

  Head read() {
    size_t i = 0;
    std::vector<std::string> own;  // of a template
    while (is(i, "template")) {
      const size_t end = pastAngles(tokens_, i + 1);
      for (; i < end; i++) own.push_back(tokens_[i].text);
      i = std::max(i, end);
    }
    if (is(i, "using")) return alias(i);
    if (is(i, "static_assert")) return {};
    const size_t type = typeAt(i);
    const size_t end = headEnd(i);
    const bool isFunction = functions(i, end);
    if (type < end && !isFunction) structure(type);
    if (!isFunction) variables(i);
    if (is(i, "typedef") && isFunction) every(i);
    if (has(i, end, "kernel")) head_.kernels = head_.names;
    const auto isOwn = [&](const std::string &word) { return std::find(own.begin(), own.end(), word) != own.end(); };
    head_.takes.erase(std::remove_if(head_.takes.begin(), head_.takes.end(), isOwn), head_.takes.end());
    return std::move(head_);
  }

 private:
  bool is(size_t i, const char *text) const { return i < tokens_.size() && tokens_[i].is(text); }
  bool word(size_t i) const { return i < tokens_.size() && is_identifier(tokens_[i].text); }
  bool has(size_t from, size_t to, const char *text) const {
    for (size_t i = from; i < to; i++)
      if (is(i, text)) return true;
    return false;
  }

  // using NAME = …; others may mean something to every kernel.
  Head alias(size_t i) {
    if (word(i + 1) && is(i + 2, "=")) head_.names = {tokens_[i + 1].text};
    return std::move(head_);
  }

  // The word that begins a type, before anything else could be meant by it.
  size_t typeAt(size_t i) const {
    const size_t end = headEnd(i);
    for (; i < end && !is(i, "("); i++)
      if (isType(tokens_[i].text)) return i;
    return tokens_.size();
  }

  // Where the body, the value or the end of the declaration is.
  size_t headEnd(size_t i) const {
    for (int depth = 0; i < tokens_.size(); i++) {
      depth += step(i);
      if (depth == 0 && (is(i, ";") || isValue(tokens_, i))) return i;
      if (is(i, "{") && depth == 1) return i;
    }
    return i;
  }

  int step(size_t i) const { return stepOf(tokens_[i]); }

  // The token after the bracket that closes the one at i.
  size_t past(size_t i) const {
    for (int depth = 0; i < tokens_.size(); i++)
      if (depth += step(i); depth <= 0) return i + 1;
    return i;
  }

  // Names before brackets, as those of functions are, and what is in these brackets.
  bool functions(size_t i, size_t end) {
    bool found = false;
    while (i < end) {
      if (is(i, "[[")) {
        i = past(i);
      } else if (is(i, "(")) {
        const size_t next = past(i), before = head_.names.size();
        if (i > 0 && !isAttribute(tokens_[i - 1].text)) {
          found = true;
          qualified(i - 1);
          if (before == head_.names.size()) unknown_ = true;  // an operator
          for (size_t j = i; j < next; j++)
            if (word(j)) head_.takes.push_back(tokens_[j].text);
        }
        i = next;
      } else {
        i++;
      }
    }
    if (unknown_) head_.names.clear();
    return found;
  }

  // The name that ends at token i, with what is before ::, and what it is specialised for.
  void qualified(size_t i) {
    if (is(i, ">")) {
      int depth = 0;
      do {
        if (is(i, ">")) ++depth;
        if (is(i, "<")) --depth;
        if (word(i)) head_.takes.push_back(tokens_[i].text);
      } while (depth > 0 && i-- > 0);
      if (i == 0 || i > tokens_.size()) return;
      i--;
    }
    if (!word(i) || is(i - 1, "operator")) return;
    head_.names.push_back(tokens_[i].text);
    if (i >= 2 && is(i - 1, "::")) qualified(i - 2);
  }

  // struct NAME { … } OBJECTS;
  void structure(size_t i) {
    const bool isEnum = is(i, "enum");
    const size_t end = headEnd(i);
    const auto isName = [&] { return word(i) && !isType(tokens_[i].text) && !isAttribute(tokens_[i].text); };
    while (i < end && !isName() && !is(i, ":")) i = is(i, "[[") || is(i, "(") ? past(i) : i + 1;
    if (i < end && isName()) {
      head_.names.push_back(tokens_[i].text);
      head_.structs.push_back(tokens_[i].text);
      if (is(i + 1, "<"))
        for (size_t j = i + 2; j < pastAngles(tokens_, i + 1); j++)
          if (word(j)) head_.takes.push_back(tokens_[j].text);
    }
    if (!is(end, "{")) return;
    for (size_t j = isEnum ? end : past(end); j < tokens_.size(); j++)
      if (word(j)) head_.names.push_back(tokens_[j].text);
  }

  // Names before a value, a size, a comma or the end.
  void variables(size_t i) {
    if (typeAt(i) < tokens_.size() && is(headEnd(i), "{")) return;  // in structure
    for (int depth = 0; i < tokens_.size(); i++) {
      depth += step(i);
      const bool ends = is(i, ";") || is(i, ",") || isValue(tokens_, i);
      if ((depth == 0 && ends) || (depth == 1 && (is(i, "[") || is(i, "{"))))
        if (i > 0 && word(i - 1)) head_.names.push_back(tokens_[i - 1].text);
    }
  }

  void every(size_t i) {
    for (; i < tokens_.size(); i++)
      if (word(i)) head_.names.push_back(tokens_[i].text);
  }

  const std::vector<token> &tokens_;
  Head head_;
  bool unknown_ = false;
};

}  // namespace

Head headOf(const std::vector<token> &tokens) { return Reader(tokens).read(); }

bool isType(const std::string &word) { return word == "struct" || word == "class" || word == "union" || word == "enum"; }

bool isAttribute(const std::string &word) { return word == "__attribute__" || word == "alignas" || word == "decltype" || word == "coherent"; }

int stepOf(const token &t) {
  if (t.is("[[")) return 2;
  if (t.is("]]")) return -2;
  if (t.is("(") || t.is("[") || t.is("{")) return 1;
  return t.is(")") || t.is("]") || t.is("}") ? -1 : 0;
}

bool isValue(const std::vector<token> &tokens, size_t i) {
  if (!tokens[i].is("=") || i == 0) return false;
  const token &before = tokens[i - 1];  // in the name of an operator a sign, or the word
  return before.is("]") || before.is("]]") || (is_identifier(before.text) && !before.is("operator"));
}

size_t pastAngles(const std::vector<token> &tokens, size_t i) {
  if (i >= tokens.size() || !tokens[i].is("<")) return i;
  int depth = 0, round = 0;
  for (; i < tokens.size(); i++) {
    if (tokens[i].is("(")) ++round;
    if (tokens[i].is(")")) --round;
    if (round == 0 && tokens[i].is("<")) ++depth;
    if (round == 0 && tokens[i].is(">") && --depth == 0) return i + 1;
  }
  return i;
}

}  // namespace msl
