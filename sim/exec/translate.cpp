#include "translate.h"
#include <map>
#include <stdexcept>
#include "tokens.h"

namespace {
// The attributes of a kernel's parameters that are positions, and their value.
const std::map<std::string, const char *> positions = {
    {"threadgroup_position_in_grid", "t.group"},
    {"threadgroups_per_grid", "t.groups"},
    {"thread_position_in_threadgroup", "t.thread"},
    {"threads_per_threadgroup", "t.threads"},
    {"thread_position_in_grid", "t.group * t.threads + t.thread"},
    {"threads_per_grid", "t.groups * t.threads"},
    {"thread_index_in_threadgroup", "uint3(t.index)"},
    {"simdgroup_index_in_threadgroup", "uint3(t.index / msl_simd_width)"},
    {"thread_index_in_simdgroup", "uint3(t.index % msl_simd_width)"},
    {"threads_per_simdgroup", "uint3(msl_simd_width)"},
    {"simdgroups_per_threadgroup", "uint3((t.threads.x * t.threads.y * t.threads.z + msl_simd_width - 1) / msl_simd_width)"},
};

// What linkers call the first byte of an object and the one after its last.
const std::string object_ends = R"(
#if defined(__APPLE__)
extern "C" char msl_begin[] __asm("segment$start$__TEXT");
extern "C" char msl_end[] __asm("segment$end$__DATA");
#else
extern "C" char msl_begin[] __asm("__ehdr_start") __attribute__((visibility("hidden")));
extern "C" char msl_end[] __asm("_end") __attribute__((visibility("hidden")));
#endif
)";

struct array { // in threadgroup memory
  size_t begin, end; // of the declaration
  std::string type, name, dims;
};

struct kernel_info {
  std::string name, max_threads = "1024";
  std::vector<std::string> arguments;
  unsigned buffers = 0, constants = 0, writable = 0;
  std::vector<array> arrays;
};

class translator {
public:
  explicit translator(const std::string &source) : source_(source), tokens_(tokenize(source)) {}

  std::string run() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is("max_total_threads_per_threadgroup")) limit_ = at(i + 2).text;
      if (tokens_[i].is("kernel")) i = kernel(i);
      else if (at(i).is("threadgroup") && i > 0 && starts_statement(i)) refuse_array(i);
    }
    return "#include <metal_stdlib>\n#line 1 \"kernels.metal\"\n" + rewritten() + table();
  }

private:
  [[noreturn]] void fail(size_t i, const std::string &why) const {
    throw std::runtime_error("kernels.metal:" + std::to_string(at(i).line) + ": " + why);
  }

  const token &at(size_t i) const {
    static const token end{"", 0, 0, 0};
    return i < tokens_.size() ? tokens_[i] : end;
  }

  // The index after the bracket that closes the one at i.
  size_t past(size_t i, const char *open, const char *close) const {
    int depth = 0;
    for (size_t j = i; j < tokens_.size(); ++j) {
      if (tokens_[j].is(open)) ++depth;
      if (tokens_[j].is(close) && --depth == 0) return j + 1;
    }
    fail(i, std::string("no ") + close + " for this " + open);
  }

  std::string text(size_t from, size_t to) const {
    std::string s;
    for (size_t i = from; i < to; ++i) s += tokens_[i].text + " ";
    return s;
  }

  bool starts_statement(size_t i) const {
    const token &before = at(i - 1);
    return before.is("{") || before.is("}") || before.is(";");
  }

  // Whether the statement at i declares threadgroup memory, not a pointer to it.
  bool declares_memory(size_t i) const {
    for (; i < tokens_.size() && !at(i).is(";"); ++i) {
      if (at(i).is("*") || at(i).is("&") || at(i).is("=") || at(i).is("(")) return false;
    }
    return true;
  }

  void refuse_array(size_t i) const {
    if (declares_memory(i)) fail(i, "threadgroup memory can be declared only in a kernel");
  }

  // kernel void NAME ( PARAMETERS ) { BODY }; returns the index of the last token.
  size_t kernel(size_t i) {
    kernel_info k;
    if (!limit_.empty()) k.max_threads = limit_;
    size_t open = i;
    while (!at(open).is("(") || !at(open + 1).is("[[")) {
      if (at(open).is("[[")) {
        if (at(open + 1).is("max_total_threads_per_threadgroup")) k.max_threads = at(open + 3).text;
        open = past(open, "[[", "]]");
        continue;
      }
      if (at(open).is("(") || open >= tokens_.size()) break;
      ++open;
    }
    limit_.clear();
    k.name = at(open - 1).text;
    const size_t close = past(open, "(", ")");
    for (size_t from = open + 1; from < close - 1;) from = parameter(k, from, close - 1);
    if (!at(close).is("{")) fail(close, "kernel " + k.name + " has no body");
    const size_t end = past(close, "{", "}");
    for (size_t j = close + 1; j < end; ++j) {
      if (at(j).is("threadgroup") && starts_statement(j) && declares_memory(j)) declare(k, j);
    }
    kernels_.push_back(k);
    return end - 1;
  }

  // TYPE NAME [[ATTRIBUTE]] ,
  size_t parameter(kernel_info &k, size_t from, size_t close) const {
    size_t attribute = from;
    while (attribute < close && !at(attribute).is("[[")) ++attribute;
    if (attribute == close) fail(from, "a parameter of kernel " + k.name + " has no attribute");
    const size_t end = past(attribute, "[[", "]]"), name = attribute - 1;
    const std::string &what = at(attribute + 1).text;
    if (what == "buffer") {
      buffer(k, from, name, at(attribute + 3).text);
    } else if (const auto p = positions.find(what); p != positions.end()) {
      k.arguments.push_back("msl_as<" + text(from, name) + ">::of(" + p->second + ")");
    } else {
      fail(attribute, "no parameter of a kernel can be [[" + what + "]] here");
    }
    return at(end).is(",") ? end + 1 : end;
  }

  void buffer(kernel_info &k, size_t from, size_t name, const std::string &number) const {
    if (number.empty() || number.size() > 2 || number.find_first_not_of("0123456789") != std::string::npos || std::stoi(number) > 30) {
      fail(from, "buffer(" + number + ") of kernel " + k.name + " is none of 0 to 30");
    }
    const unsigned bit = 1u << std::stoi(number);
    if (k.buffers & bit) fail(from, "kernel " + k.name + " has buffer(" + number + ") twice");
    bool constant = false, is_const = false;
    for (size_t i = from; i < name; ++i) {
      constant |= at(i).is("constant");
      is_const |= at(i).is("const");
    }
    k.buffers |= bit;
    if (constant) k.constants |= bit;
    if (!constant && !is_const) k.writable |= bit;
    const bool reference = at(name - 1).is("&");
    const std::string pointer = "(" + text(from, reference ? name - 1 : name) + (reference ? "*" : "") + ")l->buffers[" + number + "]";
    k.arguments.push_back(reference ? "*" + pointer : pointer);
  }

  // threadgroup TYPE NAME DIMS ;
  void declare(kernel_info &k, size_t i) {
    size_t end = i, dims = 0;
    for (; !at(end).is(";"); ++end) {
      if (at(end).is(",")) fail(end, "one array per declaration, please");
      if (at(end).is("[") && !dims) dims = end;
    }
    if (!dims) dims = end;
    k.arrays.push_back({at(i).begin, at(end).end, text(i + 1, dims - 1), at(dims - 1).text, text(dims, end)});
  }

  std::string rewritten() const {
    std::string out;
    size_t from = 0;
    for (const kernel_info &k : kernels_) {
      for (size_t i = 0; i < k.arrays.size(); ++i) {
        const array &a = k.arrays[i];
        const std::string type = a.name + "_msl";
        out += source_.substr(from, a.begin - from) + "typedef " + a.type + type + a.dims + "; " + type + " &" + a.name + " = *(" + type +
               " *)msl_threadgroup_array(" + std::to_string(i) + ", sizeof(" + type + "));";
        from = a.end;
      }
    }
    return clang_pragmas(out + source_.substr(from));
  }

  // Metal's name for a pragma that clang has too.
  static std::string clang_pragmas(std::string s) {
    static const std::string metal = "#pragma METAL fp ", clang = "#pragma clang fp ";
    for (size_t at = 0; (at = s.find(metal, at)) != std::string::npos;) s.replace(at, metal.size(), clang);
    return s;
  }

  std::string table() const {
    std::string entries, out = "\n#undef kernel\n#undef thread\nnamespace {\nextern const msl_kernel msl_table[];\n}\n" + object_ends + "namespace {\n";
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const kernel_info &k = kernels_[i];
      const std::string n = std::to_string(i);
      std::string arguments, bytes = "0";
      for (const std::string &a : k.arguments) arguments += (arguments.empty() ? "" : ", ") + a;
      for (const array &a : k.arrays) bytes += " + sizeof(" + a.type + a.dims + ")";
      out += "MSL_UNCHECKED void msl_enter" + n + "(const msl_launch *l, const msl_thread &t) { " + k.name + "(" + arguments + "); }\n" +
             "void msl_start" + n + "(const msl_launch *l) { msl_run(l, &msl_table[" + n + "], msl_enter" + n + "); }\n";
      entries += "  {\"" + k.name + "\", " + std::to_string(k.buffers) + "u, " + std::to_string(k.constants) + "u, " +
                 std::to_string(k.writable) + "u, " + bytes + ", " + k.max_threads + ", MSL_CHECKED, msl_start" + n + ", msl_begin, msl_end},\n";
    }
    return out + "const msl_kernel msl_table[] = {\n" + entries + "  {}};\n}\n" +
           "extern \"C\" MSL_UNCHECKED __attribute__((visibility(\"default\"))) const msl_kernel *msl_kernels(uint32_t *n) {\n  *n = " +
           std::to_string(kernels_.size()) + ";\n  return msl_table;\n}\n";
  }

  const std::string &source_;
  std::vector<token> tokens_;
  std::vector<kernel_info> kernels_;
  std::string limit_; // of the kernel that follows
};
}

std::string translate(const std::string &source, std::string &error) {
  try {
    return translator(source).run();
  } catch (const std::runtime_error &e) {
    error = e.what();
    return "";
  }
}
