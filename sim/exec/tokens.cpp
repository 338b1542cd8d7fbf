#include "tokens.h"
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
  if (s[i] == '#') {
    size_t end = i;
    do end = past("\n", end);
    while (end < s.size() && end >= 2 && s[end - 2] == '\\');
    return end;
  }
  return i;
}

size_t end_of_token(const std::string &s, size_t i) {
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

std::vector<token> tokenize(const std::string &source) {
  std::vector<token> list;
  int line = 1;
  for (size_t i = 0; i < source.size();) {
    size_t end = skip(source, i);
    if (end == i) {
      end = end_of_token(source, i);
      if (end > source.size()) end = source.size();
      list.push_back({source.substr(i, end - i), i, end, line});
    }
    for (; i < end; ++i) line += source[i] == '\n';
  }
  return list;
}
