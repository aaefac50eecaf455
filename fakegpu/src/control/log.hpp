// Log: the trace of calls, the violations found and the faults to inject.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace fakegpu {

/// Builds one JSON object, field by field.
class Json {
 public:
  Json& add(std::string_view key, std::string_view text);
  Json& add(std::string_view key, const char* text) { return add(key, std::string_view(text)); }
  Json& add(std::string_view key, std::uint64_t number);
  Json& add(std::string_view key, std::int64_t number);
  Json& add(std::string_view key, int number) { return add(key, std::int64_t{number}); }
  Json& add(std::string_view key, unsigned number) { return add(key, std::uint64_t{number}); }
  Json& add(std::string_view key, bool value);
  std::string text() const { return "{" + fields_ + "}"; }

 private:
  void key(std::string_view name);
  std::string fields_;
};

struct Fault {
  std::string name;  // a function's name, or "*"
  std::uint64_t k = 0;
  int code = 0;
  bool sticky = false;
  std::uint64_t seen = 0;
};

class Log {
 public:
  static Log& get();

  std::uint64_t begin_call() { return ++calls_; }
  void end_call(std::string line) { trace_.push_back(std::move(line)); }
  /// `first` and `second` are call numbers. The same violation is recorded once.
  void violation(std::string_view kind, std::string_view message, std::uint64_t first,
                 std::uint64_t second, std::uint64_t address, std::uint64_t bytes);
  /// The status that a call of this function must return, or 0.
  int fault(const std::string& name);
  void add_fault(Fault fault) { faults_.push_back(std::move(fault)); }
  std::uint64_t count(const std::string& name) const;
  void clear();

  const std::vector<std::string>& trace() const { return trace_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  std::vector<std::string> trace_;
  std::vector<std::string> violations_;
  std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>> told_;
  std::vector<Fault> faults_;
  std::map<std::string, std::uint64_t> counts_;
  int sticky_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace fakegpu
