#include "declarations.h"

#include <algorithm>

#include "sha256.h"

namespace msl {

// Finds the declarations that words lead to.
class Closure {
 public:
  explicit Closure(const Declarations &d) : d_(d), chosen_(d.list_.size()), wanted_(d.about_.size()) {
    for (size_t i = 0; i < d.list_.size(); i++)
      if (d.links_[i].names.empty()) consider(i);
  }

  std::vector<bool> of(size_t kernel) {
    want(kernel);
    while (!open_.empty()) {
      const size_t name = open_.back();
      open_.pop_back();
      for (const size_t i : d_.about_[name]) consider(i);
    }
    leaveOutEmpty();
    return chosen_;
  }

 private:
  // Namespaces of which nothing was chosen: with them a kernel would depend on how many others there are.
  void leaveOutEmpty() {
    std::vector<size_t> open;
    size_t last = d_.list_.size();  // chosen
    for (size_t i = 0; i < d_.list_.size(); i++) {
      if (!chosen_[i]) continue;
      if (d_.list_[i].opens > 0) open.push_back(i);
      if (d_.list_[i].opens < 0 && !open.empty() && last == open.back()) {
        chosen_[last] = chosen_[i] = false;
        open.pop_back();
        for (last = i; last > 0 && !chosen_[last]; last--) {
        }
      } else {
        if (d_.list_[i].opens < 0 && !open.empty()) open.pop_back();
        last = i;
      }
    }
  }

  void want(size_t name) {
    if (!wanted_[name]) open_.push_back(name);
    wanted_[name] = true;
  }

  void consider(size_t i) {
    const auto &l = d_.links_[i];
    const auto wanted = [this](size_t name) { return wanted_[name]; };
    if (chosen_[i] || !std::all_of(l.takes.begin(), l.takes.end(), wanted)) return;
    if (!l.names.empty() && std::none_of(l.names.begin(), l.names.end(), wanted)) return;
    chosen_[i] = true;
    for (const size_t name : l.words) want(name);
  }

  const Declarations &d_;
  std::vector<bool> chosen_, wanted_;
  std::vector<size_t> open_;  // wanted, not yet looked at
};

Declarations::Declarations(const std::string &source) : source_(source), list_(split(source)) {
  for (const auto &d : list_) {
    kernels_.insert(kernels_.end(), d.kernels.begin(), d.kernels.end());
    hashes_.push_back(sha256(d.text));
    for (const auto &name : d.names) number_.emplace(name, number_.size());
  }
  about_.resize(number_.size());
  for (size_t i = 0; i < list_.size(); i++) {
    links_.push_back({numbers(list_[i].names), numbers(list_[i].takes), numbers(list_[i].words)});
    for (const size_t name : links_[i].names) about_[name].push_back(i);
    for (const size_t name : links_[i].takes) about_[name].push_back(i);
  }
}

std::vector<size_t> Declarations::numbers(const std::vector<std::string> &words) const {
  std::vector<size_t> list;
  for (const auto &word : words)
    if (const auto at = number_.find(word); at != number_.end()) list.push_back(at->second);
  return list;
}

std::vector<bool> Declarations::of(const std::string &kernel) const { return Closure(*this).of(number_.at(kernel)); }

std::string Declarations::hash(const std::vector<bool> &chosen, bool lines) const {
  std::string all;
  for (size_t i = 0; i < list_.size(); i++) {
    if (!chosen[i]) continue;
    all += hashes_[i];
    if (lines) all += ":" + std::to_string(list_[i].line);
  }
  return sha256(all);
}

std::string Declarations::source(const std::vector<bool> &chosen) const {
  std::string out;
  size_t from = 0;
  const auto blank = [&](size_t to) { out.append(std::count(source_.begin() + from, source_.begin() + to, '\n'), '\n'); };
  for (size_t i = 0; i < list_.size(); i++) {
    if (!chosen[i]) continue;
    blank(list_[i].begin);
    out += " ";  // between two declarations of one line
    out.append(source_, list_[i].begin, list_[i].end - list_[i].begin);
    from = list_[i].end;
  }
  blank(source_.size());
  return out + "\n";
}

}  // namespace msl
