// The trace and the violations as JSON objects; the countdown of injected faults.
#include "control/log.hpp"

#include "control/codes.hpp"

namespace fakegpu {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

bool poisons_context(int code) {
  return code >= kIllegalAddress && code <= kLaunchFailed && code != kPeerAccessAlreadyEnabled &&
         code != kPeerAccessNotEnabled && code != kContextIsDestroyed;
}

}  // namespace

void Json::key(std::string_view name) {
  if (!fields_.empty()) fields_ += ", ";
  fields_ += quoted(name);
  fields_ += ": ";
}

Json& Json::add(std::string_view name, std::string_view text) {
  key(name);
  fields_ += quoted(text);
  return *this;
}

Json& Json::add(std::string_view name, std::uint64_t number) {
  key(name);
  fields_ += std::to_string(number);
  return *this;
}

Json& Json::add(std::string_view name, std::int64_t number) {
  key(name);
  fields_ += std::to_string(number);
  return *this;
}

Json& Json::add(std::string_view name, bool value) {
  key(name);
  fields_ += value ? "true" : "false";
  return *this;
}

Log& Log::get() {
  static auto* log = new Log;  // never destroyed, like the machine
  return *log;
}

void Log::violation(std::string_view kind, std::string_view message, std::uint64_t first,
                    std::uint64_t second, std::uint64_t address, std::uint64_t bytes) {
  if (!told_.emplace(kind, first, second).second) return;
  Json json;
  json.add("kind", kind).add("message", message).add("first", first).add("second", second);
  violations_.push_back(json.add("pointer", address).add("bytes", bytes).text());
}

int Log::fault(const std::string& name) {
  ++counts_[name];
  int code = sticky_;
  for (Fault& fault : faults_) {
    if (fault.name != "*" && fault.name != name) continue;
    if (++fault.seen != fault.k) continue;
    code = fault.code;
    if (fault.sticky || poisons_context(code)) sticky_ = code;
  }
  return code;
}

std::uint64_t Log::count(const std::string& name) const {
  std::uint64_t total = 0;
  for (const auto& [called, times] : counts_)
    if (name == "*" || name == called) total += times;
  return total;
}

void Log::clear() {
  trace_.clear();
  violations_.clear();
  told_.clear();
  faults_.clear();
  counts_.clear();
  sticky_ = 0;
  calls_ = 0;
}

}  // namespace fakegpu
