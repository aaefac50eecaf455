// The calls of Linux that arenas need: sealed files in memory, locks of open file descriptions.
#include "shared/system_calls.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace refarray::shared {
namespace {

// Newer than the headers of some systems that we build on.
constexpr unsigned kNoExec = 0x0008U;     // MFD_NOEXEC_SEAL, Linux 6.3
constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, Linux 5.1
constexpr int kWipeOnFork = 18;           // MADV_WIPEONFORK, Linux 4.14

/// "/proc/PID/fd/NUMBER"; "self" for process 0.
struct ProcPath {
  char text[48];

  ProcPath(std::uint32_t pid, std::uint32_t number) noexcept {
    if (pid == 0)
      std::snprintf(text, sizeof text, "/proc/self/fd/%u", number);
    else
      std::snprintf(text, sizeof text, "/proc/%u/fd/%u", pid, number);
  }
};

int flags_of(Access access) noexcept {
  return (access == Access::kWrite ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY;
}

/// Reads a small file; what does not fit is left out. Empty if there is none.
std::string_view read_small(const char* path, std::span<char> into) noexcept {
  const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t count = read(file.number(), into.data(), into.size());
  return {into.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// The number after `name` in a text; kUnknown without one.
std::uint64_t number_after(std::string_view text, std::string_view name) noexcept {
  const std::size_t found = text.find(name);
  if (found == text.npos) return kUnknown;
  text.remove_prefix(found + name.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t out = kUnknown;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// What a limit of this process's own control group (version 2) leaves. The cache of files that it
/// counts would be given up first.
std::uint64_t left_in_control_group() noexcept {
  char buffer[4096];
  std::string_view group = read_small("/proc/self/cgroup", buffer);
  const std::size_t begin = group.find("0::/");
  if (begin == group.npos) return kUnknown;
  group = group.substr(begin + 3, group.find('\n', begin) - begin - 3);
  try {  // boundary: without memory for the paths the limit is unknown
    const std::string folder = "/sys/fs/cgroup" + std::string(group) + "/memory.";
    char text[4096];
    const auto read = [&](const char* name) { return read_small((folder + name).c_str(), text); };
    const std::uint64_t most = number_after(read("max"), "");
    const std::uint64_t used = number_after(read("current"), "");
    const std::uint64_t cached = number_after(read("stat"), "inactive_file");
    if (most == kUnknown || used == kUnknown) return kUnknown;
    const std::uint64_t needed = used - std::min(used, cached == kUnknown ? 0 : cached);
    return most - std::min(most, needed);
  } catch (const std::bad_alloc&) {
    return kUnknown;
  }
}

}  // namespace

void fail_call(const char* call) {
  const int error = errno;
  core::fail(core::Fault::kBuffer, call, " failed: ", std::strerror(error), " (errno ", error, ")");
}

Descriptor new_memory_file(const char* name, std::uint64_t size) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Descriptor out(memfd_create(name, kFlags | kNoExec));
  if (!out && errno == EINVAL) out = Descriptor(memfd_create(name, kFlags));
  if (!out) fail_call("memfd_create()");
  if (ftruncate(out.number(), static_cast<off_t>(size)) != 0) fail_call("ftruncate()");
  return out;
}

void add_seals(const Descriptor& file, const Seals& seals) {
  const int bits = F_SEAL_SEAL | (seals.shrink ? F_SEAL_SHRINK : 0) |
                   (seals.grow ? F_SEAL_GROW : 0) | (seals.future_write ? kSealFutureWrite : 0);
  if (fcntl(file.number(), F_ADD_SEALS, bits) != 0) fail_call("fcntl(F_ADD_SEALS)");
}

std::optional<Seals> seals_of(const Descriptor& file) noexcept {
  const int bits = fcntl(file.number(), F_GET_SEALS);
  if (bits < 0) return std::nullopt;
  return Seals{(bits & F_SEAL_SHRINK) != 0, (bits & F_SEAL_GROW) != 0,
               (bits & kSealFutureWrite) != 0};
}

FileFacts facts_of(const Descriptor& file) {
  struct stat found{};
  if (fstat(file.number(), &found) != 0) fail_call("fstat()");
  return {S_ISREG(found.st_mode), found.st_dev, found.st_ino,
          static_cast<std::uint64_t>(found.st_size)};
}

Descriptor open_again(const Descriptor& file, Access access) {
  const ProcPath path(0, static_cast<std::uint32_t>(file.number()));
  Descriptor out(open(path.text, flags_of(access)));
  if (!out) fail_call("opening /proc/self/fd");
  return out;
}

Descriptor open_of_process(std::uint32_t pid, std::uint32_t number, Access access) noexcept {
  const ProcPath path(pid, number);
  // Opening a device or a pipe may have effects: look first what it is.
  const Descriptor place(open(path.text, O_PATH | O_CLOEXEC));
  if (!place) return {};
  struct stat found{};
  if (fstat(place.number(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const ProcPath own(0, static_cast<std::uint32_t>(place.number()));
  return Descriptor(open(own.text, flags_of(access)));
}

std::uint64_t pid_namespace() noexcept {
  struct Known {
    pid_t pid;
    std::uint64_t inode;
  };
  static constinit thread_local Known known{};  // a child may be in another one
  if (known.pid == getpid()) return known.inode;
  struct stat found{};
  known = {getpid(), stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0};
  return known.inode;
}

namespace {
bool set_lock(const Descriptor& file, std::uint64_t at, short type) noexcept {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(at);
  lock.l_len = 1;
  return fcntl(file.number(), F_OFD_SETLK, &lock) == 0;
}
}  // namespace

bool lock_byte(const Descriptor& file, std::uint64_t at) noexcept {
  return set_lock(file, at, F_WRLCK);
}
void unlock_byte(const Descriptor& file, std::uint64_t at) noexcept { set_lock(file, at, F_UNLCK); }

std::byte* map_file(const Descriptor& file, std::uint64_t size, Access access) noexcept {
  const int protection = PROT_READ | (access == Access::kWrite ? PROT_WRITE : 0);
  void* out = mmap(nullptr, size, protection, MAP_SHARED, file.number(), 0);
  if (out == MAP_FAILED) return nullptr;
  madvise(out, size, MADV_DONTDUMP);
  return static_cast<std::byte*>(out);
}

void unmap(std::byte* address, std::uint64_t size) noexcept {
  if (address != nullptr) munmap(address, size);
}

bool give_pages(const Descriptor& file, std::uint64_t size, std::uint64_t offset,
                std::uint64_t length) noexcept {
  struct rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
    errno = EFBIG;  // the kernel would also send SIGXFSZ
    return false;
  }
  struct stat found{};
  if (fstat(file.number(), &found) != 0) return false;
  if (static_cast<std::uint64_t>(found.st_size) < size) {
    // EPERM: somebody else has made it longer meanwhile, and it cannot shrink.
    if (ftruncate(file.number(), static_cast<off_t>(size)) != 0 && errno != EPERM) return false;
  }
  return fallocate(file.number(), 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
}

bool take_pages(const Descriptor& file, std::uint64_t offset, std::uint64_t length) noexcept {
  return fallocate(file.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
}

std::uint64_t available_memory() noexcept {
  char buffer[4096];
  const std::uint64_t kib = number_after(read_small("/proc/meminfo", buffer), "MemAvailable:");
  return std::min(kib == kUnknown ? kUnknown : kib * 1024, left_in_control_group());
}

std::uint64_t physical_memory() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void read_at(const Descriptor& file, void* into, std::size_t size) {
  const ssize_t count = pread(file.number(), into, size, 0);
  if (count < 0) fail_call("pread()");
  if (static_cast<std::size_t>(count) != size)
    core::fail(core::Fault::kBuffer, "the file has ", count, " bytes; ", size, " are needed");
}

void write_at(const Descriptor& file, const void* from, std::size_t size) {
  if (pwrite(file.number(), from, size, 0) != static_cast<ssize_t>(size)) fail_call("pwrite()");
}

std::uint64_t* new_page_of_process() noexcept {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* out = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) return nullptr;
  if (madvise(out, size, kWipeOnFork) == 0) return static_cast<std::uint64_t*>(out);
  munmap(out, size);
  return nullptr;
}

}  // namespace refarray::shared
