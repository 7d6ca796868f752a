// Many plain texts searched for at once, in any case, in one pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct hs_database;

namespace vigil::textlog {

struct Hint {
  std::uint32_t end = 0;  // position after the hint's last character
  std::uint32_t literal = 0;
};

// The compiled texts; read-only, shared by all readers.
class LiteralSet {
 public:
  enum class Report : std::uint8_t { kEveryPlace, kOncePerText };

  LiteralSet(const std::vector<std::string_view>& texts, Report report);
  ~LiteralSet();
  LiteralSet(const LiteralSet&) = delete;
  LiteralSet& operator=(const LiteralSet&) = delete;
  LiteralSet(LiteralSet&&) = delete;
  LiteralSet& operator=(LiteralSet&&) = delete;

 private:
  friend class LiteralScanner;
  hs_database* database_ = nullptr;
};

// One per reader: it owns the working memory of the search.
class LiteralScanner {
 public:
  explicit LiteralScanner(const LiteralSet& set);
  ~LiteralScanner();
  LiteralScanner(const LiteralScanner&) = delete;
  LiteralScanner& operator=(const LiteralScanner&) = delete;
  LiteralScanner(LiteralScanner&&) = delete;
  LiteralScanner& operator=(LiteralScanner&&) = delete;

  // False when the search engine does not run on this machine.
  bool works() const { return works_; }
  // What is found in `text` (below 4 GiB), in the order of its ends.
  void Scan(std::string_view text, std::vector<Hint>& hints);

 private:
  const LiteralSet& set_;
  void* scratch_ = nullptr;
  bool works_ = false;
};

}  // namespace vigil::textlog
