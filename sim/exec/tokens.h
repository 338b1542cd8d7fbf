// The words and signs of a Metal source.
#pragma once
#include <string>
#include <vector>

struct token {
  std::string text;
  size_t begin, end; // in the source
  int line;
  bool is(const char *s) const { return text == s; }
};

// Comments, preprocessor lines and white space are left out; "[[" and "]]" are one
// token each.
std::vector<token> tokenize(const std::string &source);
