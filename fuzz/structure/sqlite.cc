// SQLite databases: pages of one size, b-trees of cells in them; behind the image perhaps a write-ahead log of pages
// with running checksums. https://www.sqlite.org/fileformat2.html has every byte.
#include "frames.h"

namespace vigil::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 100;
constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kLeastPageBytes = 512;

void SetBig(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  if (at + count > bytes.size()) return;
  std::string number;
  PutBig(number, value, count);
  bytes.replace(at, count, number);
}

std::size_t PageBytesOf(std::string_view image) {
  if (image.size() < kHeaderBytes) return kLeastPageBytes;
  const std::uint64_t stated = BigAt(image, 16, 2);
  const std::size_t bytes = stated == 1 ? 65536 : static_cast<std::size_t>(stated);
  return bytes >= kLeastPageBytes && (bytes & (bytes - 1)) == 0 ? bytes : kLeastPageBytes;
}

// ---- changes to one page

struct PageChange {
  std::string& page;
  std::size_t header;      // where the header of the b-tree stands: behind the file's on the first page
  std::size_t page_count;  // of the image: numbers of pages are best just inside or outside
  Mutation& how;

  std::size_t Cells() const {
    return header + 8 <= page.size() ? static_cast<std::size_t>(BigAt(page, header + 3, 2)) : 0;
  }
  std::size_t PointersAt() const {
    const bool interior = header < page.size() && (page[header] == 2 || page[header] == 5);
    return header + (interior ? 12 : 8);
  }
  std::uint64_t AnyPage() const {
    return how.chance.OneIn(8) ? how.chance.OddNumber() : how.chance.Below(page_count + 2);
  }
};

// Type, first free block, number of cells, start of the content, fragmented bytes, right-most child.
void MutatePageHeader(PageChange& change) {
  struct Place {
    std::size_t at;
    std::size_t bytes;
  };
  constexpr Place kPlaces[] = {{0, 1}, {1, 2}, {3, 2}, {5, 2}, {7, 1}, {8, 4}};
  constexpr std::uint64_t kTypes[] = {2, 5, 10, 13};
  Chance& chance = change.how.chance;
  const Place place = kPlaces[chance.Below(6)];
  std::uint64_t value = chance.OneIn(2) ? chance.Below(change.page.size() + 8) : chance.OddNumber();
  if (place.at == 0) value = kTypes[chance.Below(4)];
  if (place.at == 8) value = change.AnyPage();
  SetBig(change.page, change.header + place.at, value, place.bytes);
}

// Where a cell begins; the page's size when it has none.
std::size_t AnyCell(const PageChange& change) {
  const std::size_t pointer = change.PointersAt() + 2 * change.how.chance.Below(change.Cells());
  if (change.Cells() == 0 || pointer + 2 > change.page.size()) return change.page.size();
  return std::min<std::size_t>(change.page.size(), static_cast<std::size_t>(BigAt(change.page, pointer, 2)));
}

void MutateCellPointer(PageChange& change) {
  Chance& chance = change.how.chance;
  const std::size_t at = change.PointersAt() + 2 * chance.Below(change.Cells() + 1);
  const std::uint64_t other = chance.OneIn(2) ? AnyCell(change) : chance.Below(change.page.size() + 8);
  SetBig(change.page, at, other, 2);
}

// A varint at the beginning of a cell: size of the payload, row, size of the record's header, types of its columns.
void MutateCellVarint(PageChange& change) {
  Chance& chance = change.how.chance;
  std::size_t at = AnyCell(change);
  for (std::size_t skip = chance.Below(10); skip > 0 && at < change.page.size(); --skip) {
    while (at < change.page.size() && (static_cast<unsigned char>(change.page[at]) & 0x80U) != 0) ++at;
    ++at;
  }
  if (at >= change.page.size()) return;
  // In place, so that what follows stays where it is: sizes and types change their meaning, not their length.
  if (chance.OneIn(4)) {
    change.page[at] = static_cast<char>(static_cast<unsigned char>(change.page[at]) ^ 0x80U);
  } else {
    change.page[at] = static_cast<char>(chance.Below(128));
  }
}

// Numbers of pages: at the front of an overflow page, a page of the free list and an interior cell, behind a cell's
// payload.
void MutateLink(PageChange& change) {
  Chance& chance = change.how.chance;
  const std::size_t places[] = {0, 4, AnyCell(change), chance.Below(change.page.size())};
  SetBig(change.page, places[chance.Below(4)], change.AnyPage(), 4);
}

void MutateInside(PageChange& change) {
  const std::size_t size = change.page.size();
  const std::size_t at = AnyCell(change);
  std::string tail = change.page.substr(std::min(at, size));
  if (tail.empty()) tail = change.page.substr(std::min(size, change.header));
  const std::size_t before = size - tail.size();
  change.how.mutate(tail, tail.size());
  change.page.resize(before);
  change.page += tail;
  change.page.resize(size, '\0');
}

void MutatePage(std::string& page, std::size_t index, std::size_t page_count, Mutation& how) {
  PageChange change{page, index == 0 ? kHeaderBytes : 0, page_count, how};
  constexpr void (*kChanges[])(PageChange&) = {MutatePageHeader, MutateCellPointer, MutateCellVarint,
                                               MutateCellVarint, MutateLink,        MutateInside};
  kChanges[how.chance.Below(6)](change);
}

// Fields of the file's header that readers act on, from the page size to the version that wrote it.
void MutateFileHeader(std::string& first, std::size_t page_count, Mutation& how) {
  struct Place {
    std::size_t at;
    std::size_t bytes;
  };
  constexpr Place kPlaces[] = {{16, 2}, {18, 1}, {19, 1}, {20, 1}, {21, 3}, {28, 4}, {32, 4},
                               {36, 4}, {44, 4}, {52, 4}, {56, 4}, {64, 4}, {92, 4}, {96, 4}};
  const Place place = kPlaces[how.chance.Below(14)];
  SetBig(first, place.at, how.chance.OneIn(2) ? how.chance.OddNumber() : how.chance.Below(page_count + 4), place.bytes);
}

// ---- the image

std::vector<std::string> ParsePages(std::string_view image, std::size_t page_bytes) {
  std::vector<std::string> pages;
  for (std::size_t at = 0; at < image.size(); at += page_bytes) {
    pages.emplace_back(image.substr(at, page_bytes));
    pages.back().resize(page_bytes, '\0');
  }
  return pages;
}

void MutatePages(std::vector<std::string>& pages, Mutation& how) {
  if (pages.empty()) pages.emplace_back(kLeastPageBytes, '\0');
  if (how.chance.OneIn(12)) return MutateFileHeader(pages.front(), pages.size(), how);
  // The first page stays in its place: without it nothing is a database.
  std::string first = std::move(pages.front());
  pages.erase(pages.begin());
  const std::size_t count = pages.size() + 1;
  if (pages.empty() || how.chance.OneIn(4)) {
    MutatePage(first, 0, count, how);
  } else {
    MutateSequence(
        pages, how, [&](std::string& page) { MutatePage(page, 1, count, how); },
        [](const std::string& page) { return page.size(); });
  }
  for (std::string& page : pages) page.resize(first.size(), '\0');  // one that MutateSequence made is empty
  pages.insert(pages.begin(), std::move(first));
  // The header's count of pages holds only while both counters of changes agree.
  if (pages.size() == count) return;
  SetBig(pages.front(), 28, pages.size(), 4);
  if (pages.front().size() >= kHeaderBytes) pages.front().replace(92, 4, pages.front().substr(24, 4));
}

// ---- the write-ahead log

struct Frame {
  std::uint64_t page = 1;
  std::uint64_t commit = 1;  // pages of the database after it; 0 within a transaction
  std::string content = {};
};

struct Log {
  std::string header;  // its first 24 bytes
  std::vector<Frame> frames;
};

Log ParseLog(std::string_view bytes, std::size_t page_bytes) {
  Log log{std::string(bytes.substr(0, kLogHeaderBytes - 8)), {}};
  log.header.resize(kLogHeaderBytes - 8, '\0');
  const std::size_t frame_bytes = kFrameHeaderBytes + page_bytes;
  for (std::size_t at = kLogHeaderBytes; at + frame_bytes <= bytes.size(); at += frame_bytes)
    log.frames.push_back(
        {BigAt(bytes, at, 4), BigAt(bytes, at + 4, 4), std::string(bytes.substr(at + kFrameHeaderBytes, page_bytes))});
  return log;
}

class Checksum {
 public:
  explicit Checksum(bool big_endian) : big_endian_(big_endian) {}
  void Extend(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += WordAt(bytes, at) + second_;
      second_ += WordAt(bytes, at + 4) + first_;
    }
  }
  void Put(std::string& out) const {
    PutBig(out, first_, 4);
    PutBig(out, second_, 4);
  }

 private:
  std::uint32_t WordAt(std::string_view bytes, std::size_t at) const {
    return static_cast<std::uint32_t>(big_endian_ ? BigAt(bytes, at, 4) : LittleAt(bytes, at, 4));
  }
  bool big_endian_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

std::string WriteLog(const Log& log, std::size_t most_bytes) {
  std::string out = log.header;
  Checksum sum((log.header[3] & 1) != 0);
  sum.Extend(log.header);
  sum.Put(out);
  for (const Frame& frame : log.frames) {
    if (out.size() + kFrameHeaderBytes + frame.content.size() > most_bytes) break;
    std::string start;
    PutBig(start, frame.page, 4);
    PutBig(start, frame.commit, 4);
    sum.Extend(start);
    sum.Extend(frame.content);
    out += start;
    out += log.header.substr(16, 8);  // the salt of its generation
    sum.Put(out);
    out += frame.content;
  }
  return out;
}

void EditFrame(Frame& frame, std::size_t page_count, Mutation& how) {
  if (how.chance.OneIn(4)) {
    frame.page = how.chance.OneIn(8) ? how.chance.OddNumber() : how.chance.Below(page_count + 3);
  } else if (how.chance.OneIn(3)) {
    frame.commit = how.chance.OneIn(8) ? how.chance.OddNumber() : how.chance.Below(page_count + 3);
  } else {
    MutatePage(frame.content, frame.page == 1 ? 0 : 1, page_count, how);
  }
}

void MutateLog(Log& log, std::size_t page_bytes, std::size_t page_count, Mutation& how) {
  if (how.chance.OneIn(16)) log.header[3] = static_cast<char>(log.header[3] ^ 1);  // checksums in the other byte order
  MutateSequence(
      log.frames, how, [&](Frame& frame) { EditFrame(frame, page_count, how); },
      [&](const Frame&) { return page_bytes + kFrameHeaderBytes; });
  for (Frame& frame : log.frames) frame.content.resize(page_bytes, '\0');
}

}  // namespace

std::size_t FindLog(std::string_view input) {
  constexpr std::string_view kMagic("\x37\x7f\x06", 3);
  for (std::size_t at = 0; at + kLogHeaderBytes <= input.size(); at += kLeastPageBytes) {
    const std::string_view here = input.substr(at);
    if (here.starts_with(kMagic) && (here[3] == '\x82' || here[3] == '\x83')) return at;
  }
  return input.size();
}

std::string MutateSqlite(std::string_view input, Mutation& how) {
  const std::size_t log_at = FindLog(input);
  const std::size_t page_bytes = PageBytesOf(input.substr(0, log_at));
  std::vector<std::string> pages = ParsePages(input.substr(0, log_at), page_bytes);
  Log log;
  const bool logged = log_at < input.size();
  if (logged) log = ParseLog(input.substr(log_at), page_bytes);
  if (logged && how.chance.OneIn(2)) {
    MutateLog(log, page_bytes, pages.size(), how);
  } else {
    MutatePages(pages, how);
  }
  std::string out;
  for (const std::string& page : pages) {
    if (out.size() + page.size() <= how.most_bytes) out += page;
  }
  if (logged && out.size() + kLogHeaderBytes <= how.most_bytes) out += WriteLog(log, how.most_bytes - out.size());
  return out;
}

}  // namespace vigil::fuzz
