#include "tokens.h"
#include <algorithm>
#include <cctype>

namespace {
bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of what is no token at i; i itself if a token starts there.
size_t skip(const std::string &s, size_t i) {
  const auto past = [&](const char *end, size_t from) {
    const size_t at = s.find(end, from);
    return at == std::string::npos ? s.size() : at + std::string(end).size();
  };
  if (isspace(static_cast<unsigned char>(s[i]))) return i + 1;
  if (s.compare(i, 2, "//") == 0) return past("\n", i);
  if (s.compare(i, 2, "/*") == 0) return past("*/", i + 2);
  return i;
}

// The end of the preprocessor line at i, without its newline.
size_t end_of_directive(const std::string &s, size_t i) {
  size_t end = s.find('\n', i);
  while (end != std::string::npos && end > 0 && s[end - 1] == '\\') end = s.find('\n', end + 1);
  return end == std::string::npos ? s.size() : end;
}

size_t end_of_token(const std::string &s, size_t i) {
  if (s[i] == '#') return end_of_directive(s, i);
  if (s[i] == '"' || s[i] == '\'') {
    size_t j = i + 1;
    while (j < s.size() && s[j] != s[i]) j += s[j] == '\\' ? 2 : 1;
    return j + 1;
  }
  for (const char *two : {"[[", "]]", "::"}) {
    if (s.compare(i, 2, two) == 0) return i + 2;
  }
  size_t j = i;
  while (j < s.size() && is_word(s[j])) ++j;
  return j > i ? j : i + 1;
}
}

bool is_identifier(const std::string &text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word) && !isdigit(static_cast<unsigned char>(text[0]));
}

std::vector<token> tokenize_all(const std::string &source) {
  std::vector<token> list;
  int line = 1;
  for (size_t i = 0; i < source.size();) {
    size_t end = skip(source, i);
    if (end == i) {
      end = std::min(end_of_token(source, i), source.size());
      list.push_back({source.substr(i, end - i), i, end, line, source[i] == '#'});
    }
    for (; i < end; ++i) line += source[i] == '\n';
  }
  return list;
}

std::vector<token> tokenize(const std::string &source) {
  std::vector<token> list = tokenize_all(source);
  list.erase(std::remove_if(list.begin(), list.end(), [](const token &t) { return t.directive; }), list.end());
  return list;
}
