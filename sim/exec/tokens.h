// The words and signs of a Metal source.
#pragma once
#include <string>
#include <vector>

struct token {
  std::string text;
  size_t begin, end; // in the source
  int line;
  bool directive = false; // a preprocessor line, with those that a backslash joins to it
  bool is(const char *s) const { return text == s; }
};

bool is_identifier(const std::string &text);

// Comments, preprocessor lines and white space are left out; "[[" and "]]" are one
// token each.
std::vector<token> tokenize(const std::string &source);

// tokenize with a token for each preprocessor line.
std::vector<token> tokenize_all(const std::string &source);
