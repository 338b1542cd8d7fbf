#include "contraction.h"

#include <regex>
#include <sstream>
#include <vector>

namespace metalsim {
namespace {

// The lines that a version of the language has. Only conditions on that version count: both
// branches of any other stay.
class Lines {
 public:
  Lines(const std::string &source, int version) : text_(source), version_(version) {}

  bool next(std::string &line) {
    while (std::getline(text_, line)) {
      if (!conditional(line) && live()) return true;
    }
    return false;
  }

 private:
  bool live() const {
    for (const Branch &b : open_)
      if (!b.taken) return false;
    return true;
  }

  // Handles a line that opens, inverts or closes a condition.
  bool conditional(const std::string &line) {
    static const std::regex ours(R"(^\s*#\s*if\s+__METAL_VERSION__\s*(>=|<)\s*(\d+)\s*$)"), any(R"(^\s*#\s*if.*)"),
        otherwise(R"(^\s*#\s*else\b.*)"), end(R"(^\s*#\s*endif\b.*)");
    std::smatch m;
    if (std::regex_match(line, m, ours)) {
      open_.push_back({(version_ < std::stoi(m[2])) == (m[1] == "<"), true});
    } else if (std::regex_match(line, any)) {
      open_.push_back({true, false});
    } else if (std::regex_match(line, otherwise) && !open_.empty()) {
      open_.back().taken = !open_.back().taken || !open_.back().onVersion;
    } else if (std::regex_match(line, end) && !open_.empty()) {
      open_.pop_back();
    } else {
      return false;
    }
    return true;
  }

  struct Branch {
    bool taken, onVersion;
  };
  std::istringstream text_;
  const int version_;
  std::vector<Branch> open_;
};

}  // namespace

bool forbidsContraction(const std::string &source, int version) {
  const std::string pragma = version >= 320 ? "#pragma METAL fp contract(off)" : "#pragma clang fp contract(off)";
  Lines lines(source, version);
  for (std::string line; lines.next(line);) {
    if (line == pragma) return true;
    if (line.compare(0, 2, "//") != 0 && line.find('{') != std::string::npos) return false;
  }
  return false;
}

}  // namespace metalsim
