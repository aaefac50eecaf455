// The open ledgers of each thread.
#include "core/ledger.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace refarray::core {

constinit std::atomic<int> open_ledgers{0};

namespace {

using Open = std::vector<std::shared_ptr<Ledger>>;

/// Trivially destructible, because destructors of the thread's other thread_locals may note
/// something.
constinit thread_local Open* of_thread = nullptr;

/// Closes the ledgers that are open when their thread ends.
struct Closer {
  Open open;
  Closer() noexcept { of_thread = &open; }
  ~Closer() {
    of_thread = nullptr;
    for (const std::shared_ptr<Ledger>& ledger : open) ledger->close();
  }
};

Open& open_of_thread() {
  static thread_local Closer closer;
  return closer.open;
}

void drop_closed(Open& open) noexcept {
  std::erase_if(open, [](const std::shared_ptr<Ledger>& each) { return !each->is_open(); });
}

std::string_view text_of(Entry entry) noexcept {
  constexpr std::string_view kTexts[] = {"an allocation", "a copy", "a transfer",
                                         "a synchronization"};
  return kTexts[static_cast<std::size_t>(entry)];
}

}  // namespace

bool Ledger::open(const std::shared_ptr<Ledger>& ledger) {
  Open& open = open_of_thread();
  drop_closed(open);
  open.reserve(open.size() + 1);
  if (ledger->open_.exchange(true, std::memory_order_acq_rel)) return false;
  open_ledgers.fetch_add(1, std::memory_order_relaxed);
  open.push_back(ledger);  // has room: nothing can fail here
  return true;
}

bool Ledger::close() noexcept {
  if (!open_.exchange(false, std::memory_order_acq_rel)) return false;
  open_ledgers.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void require_allowed(Entry entry, std::int64_t nbytes) {
  if (of_thread == nullptr) return;
  for (const std::shared_ptr<Ledger>& each : *of_thread) {
    if (!each->is_open() || !each->forbids(entry)) continue;
    Ledger::add(each->refused_, entry, 1);
    const bool has_size = entry != Entry::kSynchronization && nbytes >= 0;
    fail(Fault::kLedger, text_of(entry), has_size ? text(" of ", nbytes, " bytes") : "",
         ", which a ledger of this thread forbids");
  }
}

void record(Entry entry, std::int64_t nbytes) {
  if (of_thread == nullptr) return;
  require_allowed(entry, nbytes);
  drop_closed(*of_thread);
  for (const std::shared_ptr<Ledger>& each : *of_thread) {
    Ledger::add(each->numbers_, entry, 1);
    Ledger::add(each->bytes_, entry, nbytes);
  }
}

}  // namespace refarray::core
