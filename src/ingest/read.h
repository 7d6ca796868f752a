// The driver's steps, for code of this module that needs to know more than "read or not": discovery tells files that
// are nothing of ours from files that are broken.
#pragma once

#include <string>
#include <string_view>

#include "ingest/byte_source.h"
#include "ingest/ingest.h"

namespace vigil::ingest {

// What the message of a kNoData error says behind the title of the format.
inline constexpr std::string_view kHoldsNothing = "without any value, event or setting in it";

// A file with its beginning read and recognised.
struct OpenedFile {
  ByteSource file;
  std::string path;
  std::string head;                // the bytes taken from the file so far
  const Format* format = nullptr;  // null: the content is nothing that vigil reads
};

// An Error when the file cannot be opened or read, or is empty.
Result<OpenedFile> OpenAndRecognise(const std::string& path, FormatTable formats);
// Reads the rest. `opened.format` must not be null. An Error when nothing could be used.
Result<std::vector<model::Run>> ReadOpened(OpenedFile opened);

// Whether the part of a run says anything at all.
bool HoldsAnything(const model::Run& part);
// No event, row or line of a training log comes near this; what does is damage or not ours.
inline constexpr std::size_t kRecordLimitBytes = std::size_t{64} << 20U;
// The words for it, with the place.
std::string RecordTooLong(std::uint64_t offset);

// Why a file met in a folder is not opened: its name is known to hold nothing for us, so that a folder of weights is
// not opened file by file. Empty when it may hold something.
std::string_view WhyIgnored(std::string_view path);
// More files than this below a path are not looked at.
inline constexpr std::size_t kMostFiles = 2'000'000;

}  // namespace vigil::ingest
