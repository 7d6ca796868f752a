#include "textlog/literals.h"

#include <hs/hs.h>

#include <new>

namespace vigil::textlog {
namespace {

// No exception may pass the search engine, which is C: it would never free its working memory. One that memory ran out
// in is ended instead.
int Collect(unsigned id, unsigned long long /*from*/, unsigned long long to, unsigned /*flags*/, void* hints) noexcept {
  try {
    static_cast<std::vector<Hint>*>(hints)->push_back({static_cast<std::uint32_t>(to), id});
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

}  // namespace

LiteralSet::LiteralSet(const std::vector<std::string_view>& texts, Report report) {
  const unsigned flag = HS_FLAG_CASELESS | (report == Report::kOncePerText ? HS_FLAG_SINGLEMATCH : 0U);
  std::vector<const char*> starts;
  std::vector<std::size_t> lengths;
  std::vector<unsigned> ids;
  for (const std::string_view text : texts) {
    ids.push_back(static_cast<unsigned>(ids.size()));
    starts.push_back(text.data());
    lengths.push_back(text.size());
  }
  const std::vector<unsigned> flags(texts.size(), flag);
  hs_compile_error_t* problem = nullptr;
  hs_compile_lit_multi(starts.data(), flags.data(), ids.data(), lengths.data(), static_cast<unsigned>(ids.size()),
                       HS_MODE_BLOCK, nullptr, &database_, &problem);
  if (problem != nullptr) hs_free_compile_error(problem);
}

LiteralSet::~LiteralSet() { hs_free_database(database_); }

LiteralScanner::LiteralScanner(const LiteralSet& set) : set_(set) {
  hs_scratch_t* scratch = nullptr;
  works_ = set.database_ != nullptr && hs_alloc_scratch(set.database_, &scratch) == HS_SUCCESS;
  scratch_ = scratch;
}

LiteralScanner::~LiteralScanner() { hs_free_scratch(static_cast<hs_scratch_t*>(scratch_)); }

void LiteralScanner::Scan(std::string_view text, std::vector<Hint>& hints) {
  hints.clear();
  const hs_error_t ended = hs_scan(set_.database_, text.data(), static_cast<unsigned>(text.size()), 0,
                                   static_cast<hs_scratch_t*>(scratch_), Collect, &hints);
  if (ended == HS_SCAN_TERMINATED) throw std::bad_alloc();
}

}  // namespace vigil::textlog
