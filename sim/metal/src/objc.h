// A small Objective-C runtime: classes with typed methods, objects with strict
// reference counts, autorelease pools, and objc_msgSend.
//
// Objects are C++ objects whose class derives from Object; a method is a C++
// member function registered under a selector. From its signature come the type
// encoding and a check of every object argument.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "rules.h"

namespace metalsim {

using SEL = const char *;
struct Object;
struct String;
struct Protocol;
struct Error;

// One method as a table row: what metalsim_methods() prints.
struct Method {
  void (*imp)();
  std::string types;  // type encoding without offsets: "v@:Q"
  const char *since;  // first macOS version
};

struct Class {
  const char *name;
  Class *super;
  const char *since;
  bool isProtocol;  // not found by objc_getClass, as its real class is private
  std::unordered_map<SEL, Method> instanceMethods, classMethods;
  std::map<std::string, const char *> protocols;  // by name, with the first macOS version
};

// The base of every object. `owned` counts the references of the application
// (new, retain), `held` those of other simulated objects. The object dies when
// both are zero; its C++ memory stays, so that a late message is recognised.
struct Object {
  Class *isa = nullptr;
  int64_t owned = 1, held = 0, pending = 0;  // pending: releases waiting in pools
  bool dead = false;
  std::string label;

  virtual ~Object() = default;
  // Gives up memory and references of the dying object.
  virtual void dealloc() {}

  Object *retain();
  void release();
  Object *autorelease();
  bool respondsToSelector(SEL sel);
  bool conformsToProtocol(Protocol *p);
  void setLabel(String *text);
};

// The lock of the simulator: calls are serialised.
extern std::recursive_mutex &apiLock();

// The class of a C++ type, set by defineClass.
template <class T>
inline Class *classOf = nullptr;

Class *defineClass(const char *name, Class *super, const char *since, bool isProtocol);
void registerObject(Object *o);
std::string nameOf(const Object *o);  // "MTLBuffer 'arena'"
SEL selector(const char *name);
bool available(const char *since);  // in the simulated macOS version

// A new object that the application owns.
template <class T, class... A>
T *make(A &&...args) {
  T *o = new T(std::forward<A>(args)...);
  o->isa = classOf<T>;
  registerObject(o);
  return o;
}

// A counted reference from one simulated object to another.
void hold(Object *o);
void drop(Object *o);

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(T *p) : p_(p) { hold(p_); }
  Ref(const Ref &r) : Ref(r.p_) {}
  ~Ref() { drop(p_); }
  Ref &operator=(T *p) {
    hold(p);
    drop(p_);
    p_ = p;
    return *this;
  }
  Ref &operator=(const Ref &r) { return *this = r.p_; }
  T *get() const { return p_; }
  T *operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  T *p_ = nullptr;
};

// Structures that Metal passes by value.
struct Size {
  uint64_t width, height, depth;
  uint64_t count() const { return width * height * depth; }
};
struct Range {
  uint64_t location, length;
};
struct Version {
  int64_t major, minor, patch;
};

// Fails unless o is a living object; used for receivers and arguments.
Object *checkedObject(void *o, SEL sel, int argument);

namespace detail {

template <class T>
constexpr bool isObject = std::is_base_of_v<Object, std::remove_cv_t<std::remove_pointer_t<T>>> &&
                          std::is_pointer_v<T>;

template <class T>
const char *encoding() {
  if constexpr (isObject<T>) return "@";
  else if constexpr (std::is_same_v<T, void>) return "v";
  else if constexpr (std::is_same_v<T, bool>) return "B";
  else if constexpr (std::is_same_v<T, uint64_t>) return "Q";
  else if constexpr (std::is_same_v<T, int64_t>) return "q";
  else if constexpr (std::is_same_v<T, double>) return "d";
  else if constexpr (std::is_same_v<T, SEL>) return ":";
  else if constexpr (std::is_same_v<T, char *>) return "*";
  else if constexpr (std::is_same_v<T, void *>) return "^v";
  else if constexpr (std::is_same_v<T, Error **>) return "^@";
  else if constexpr (std::is_same_v<T, Object *const *>) return "r^@";
  else if constexpr (std::is_same_v<T, const uint64_t *>) return "r^Q";
  else if constexpr (std::is_same_v<T, Size>) return "{MTLSize=QQQ}";
  else if constexpr (std::is_same_v<T, Range>) return "{_NSRange=QQ}";
  else if constexpr (std::is_same_v<T, Version>) return "{NSOperatingSystemVersion=qqq}";
  else static_assert(!sizeof(T *), "no encoding for this type");
}

template <class T>
void checkArgument(T a, SEL sel, int i) {
  if constexpr (isObject<T>) {
    if (!a) return;
    Object *o = checkedObject(a, sel, i);
    REQUIRE(dynamic_cast<T>(o), Rule::ArgumentType, "argument %d of %s is %s", i, sel,
            nameOf(o).c_str());
  }
}

// As in the real ABI, the upper bits of the register of a BOOL result are undefined.
template <class R>
using Returned = std::conditional_t<std::is_same_v<R, bool>, uint64_t, R>;

template <auto F>
struct Thunk;

template <class T, class R, class... A, R (T::*F)(A...)>
struct Thunk<F> {
  static Returned<R> call(void *self, SEL sel, A... args) {
    std::lock_guard guard(apiLock());
    T *receiver = static_cast<T *>(static_cast<Object *>(self));
    [[maybe_unused]] int i = 0;
    (checkArgument(args, sel, ++i), ...);
    if constexpr (std::is_same_v<R, bool>) return 0x5A5A5A00 | (receiver->*F)(args...);
    else return (receiver->*F)(args...);
  }
  static std::string types() { return (std::string(encoding<R>()) + "@:" + ... + encoding<A>()); }
};

template <class R, class... A, R (*F)(A...)>
struct Thunk<F> {
  static R call(void *, SEL sel, A... args) {
    std::lock_guard guard(apiLock());
    [[maybe_unused]] int i = 0;
    (checkArgument(args, sel, ++i), ...);
    return F(args...);
  }
  static std::string types() { return (std::string(encoding<R>()) + "@:" + ... + encoding<A>()); }
};

}  // namespace detail

// Registers member function F as an instance method.
template <auto F>
void method(Class *c, const char *name, const char *since) {
  c->instanceMethods[selector(name)] = {reinterpret_cast<void (*)()>(&detail::Thunk<F>::call),
                                        detail::Thunk<F>::types(), since};
}

// Registers function F as a class method.
template <auto F>
void classMethod(Class *c, const char *name, const char *since) {
  c->classMethods[selector(name)] = {reinterpret_cast<void (*)()>(&detail::Thunk<F>::call),
                                     detail::Thunk<F>::types(), since};
}

template <class T>
Object *makeDefault() {
  return make<T>();
}

}  // namespace metalsim
