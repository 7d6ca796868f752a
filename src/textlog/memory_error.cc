#include "textlog/memory_error.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

// Below it a share of the device is no reason: contexts of other processes, the allocator's rounding.
constexpr double kShareThatMatters = 0.1;
constexpr double kLeastGib = 1;

// "39.10 GiB" at the front of `text`, in GiB.
std::optional<double> Gibibytes(std::string_view text) {
  std::size_t used = 0;
  text = Trim(text);
  const auto value = ParseNumberPrefix(text, used);
  if (!value || *value < 0) return std::nullopt;
  const std::string_view unit = Trim(text.substr(used));
  if (unit.starts_with("GiB")) return value;
  if (unit.starts_with("MiB")) return *value / 1024;
  if (unit.starts_with("KiB")) return *value / (1024.0 * 1024.0);
  return unit.starts_with("bytes") ? std::optional(*value / (1024.0 * 1024.0 * 1024.0)) : std::nullopt;
}

std::optional<double> After(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : Gibibytes(text.substr(at + words.size()));
}

// The amount that stands before the words: "36.40 GiB is reserved by PyTorch but unallocated".
std::optional<double> Before(std::string_view text, std::string_view words) {
  const std::size_t end = text.find(words);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view before = Trim(text.substr(0, end));
  const std::size_t unit = before.rfind(' ');
  if (unit == std::string_view::npos || unit == 0) return std::nullopt;
  const std::size_t number = before.rfind(' ', unit - 1);
  return Gibibytes(before.substr(number == std::string_view::npos ? 0 : number + 1));
}

// What the message tells, in GiB.
struct Account {
  double asked = 0;
  double capacity = 0;
  double free = 0;
  double allocated = 0;    // by PyTorch, in tensors
  double unallocated = 0;  // by PyTorch, reserved without use
  double others = 0;       // by other processes
};

// "Process 4411 has 76.90 GiB memory in use. ...": in a container the training's own process stands among them under
// a number it does not know, recognised by holding what PyTorch holds and little more.
double HeldByOthers(std::string_view text, double own) {
  std::vector<double> held;
  constexpr std::string_view kWord = "Process ";
  for (std::size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    std::size_t digits = 0;
    if (ReadDigits(text.substr(at + kWord.size()), digits) < 0) continue;
    const std::string_view rest = text.substr(at + kWord.size() + digits);
    if (!rest.starts_with(" has ")) continue;
    if (const auto amount = Gibibytes(rest.substr(5))) held.push_back(*amount);
  }
  double sum = 0;
  for (const double amount : held) sum += amount;
  if (text.find("this process has") != std::string_view::npos) return sum;
  double mine = 0;
  for (const double amount : held) {
    if (amount + 0.01 >= own && (mine == 0 || amount < mine)) mine = amount;
  }
  return sum - mine;
}

// Both forms: "GPU 0 has a total capacity of 79.11 GiB of which 12.00 MiB is free." and, of older versions,
// "(GPU 0; 15.78 GiB total capacity; 14.36 GiB already allocated; 19.44 MiB free; 14.42 GiB reserved in total)".
Account AccountOf(std::string_view text) {
  Account account;
  account.asked = After(text, "Tried to allocate").value_or(0);
  const auto capacity = After(text, "total capacity of");
  account.capacity = capacity ? *capacity : Before(text, "total capacity").value_or(0);
  account.free = Before(text, capacity ? "is free" : "free;").value_or(0);
  account.allocated =
      capacity ? Before(text, "is allocated by PyTorch").value_or(0) : Before(text, "already allocated").value_or(0);
  if (capacity) {
    account.unallocated = Before(text, "is reserved by PyTorch but unallocated").value_or(0);
    account.others = HeldByOthers(text, account.allocated + account.unallocated);
  } else if (const auto reserved = Before(text, "reserved in total by PyTorch")) {
    account.unallocated = std::max(0.0, *reserved - account.allocated);
    // The context of this process is in what remains, too.
    account.others = std::max(0.0, account.capacity - account.free - *reserved - 2 * kLeastGib);
  }
  return account;
}

}  // namespace

std::string_view KindOfMemoryError(std::string_view text, const Exception* exception) {
  const Account account = AccountOf(text);
  const double enough = std::max(kLeastGib, kShareThatMatters * account.capacity);
  if (account.capacity > 0 && account.others >= enough && account.others > account.allocated)
    return "log/cuda-oom-other-process";
  if (account.unallocated >= std::max(account.asked, enough)) return "log/cuda-oom-fragmented";
  switch (exception == nullptr ? Stage::kTraining : exception->stage) {
    case Stage::kEvaluation:
      return "log/cuda-oom-evaluation";
    case Stage::kSaving:
      return "log/cuda-oom-saving";
    case Stage::kOptimizer:
      return "log/cuda-oom-optimizer";
    default:
      return "log/cuda-oom";
  }
}

}  // namespace vigil::textlog
