// What a declaration declares, from its words.
#pragma once
#include <string>
#include <vector>

#include "tokens.h"

namespace msl {

struct Head {
  std::vector<std::string> names;    // declared; none: they cannot be told
  std::vector<std::string> takes;    // words of parameters and of what a template is specialised for
  std::vector<std::string> structs;  // names that are structs
  std::vector<std::string> kernels;
};

// The tokens of one declaration, which has no preprocessor lines.
Head headOf(const std::vector<token> &tokens);

// Whether a word begins the declaration of a type.
bool isType(const std::string &word);

// Whether what is in brackets after a word are no parameters.
bool isAttribute(const std::string &word);

// How many brackets a token opens; those that it closes count as less than none.
int stepOf(const token &);

// Whether the token at i is the "=" before a value.
bool isValue(const std::vector<token> &tokens, size_t i);

// The token after the bracket that closes the "<" at i; i itself without one.
size_t pastAngles(const std::vector<token> &tokens, size_t i);

}  // namespace msl
