// Records of a lane, as they were collected, put into a block one by one. Private to journal.
#pragma once

#include <span>
#include <string>

#include "journal/journal.h"

namespace vigil::journal {

class LaneRecords {
 public:
  // `at`: the position of the first word.
  void Start(std::span<const std::uint64_t> words, const Position& at);
  // The next record; false at the end, and when the words make no sense.
  bool AddNext(BlockBuilder& builder);
  // Words made no sense: those behind them are lost.
  bool is_damaged() const { return damaged_; }
  // False inside a text that takes several records.
  bool is_whole() const { return text_.empty(); }
  const Position& position() const { return at_; }
  // Behind the last record that was whole.
  const Position& whole_position() const { return whole_at_; }

 private:
  void AddRecord(std::span<const std::uint64_t> record, BlockBuilder& builder);
  void AddText(std::span<const std::uint64_t> record, BlockBuilder& builder);

  std::span<const std::uint64_t> words_;
  Position at_;
  Position whole_at_;
  std::string text_;
  bool damaged_ = false;
};

}  // namespace vigil::journal
