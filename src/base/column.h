// base/column: numbers that are only appended to, shared between those who hold them. A run that is watched and the
// files that it grows from hold the same points, and they are in memory once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace vigil {

// A column of numbers. A copy shares the memory and takes O(1), whatever the length; what one holder does later is
// never seen by another one. Of the holders of one memory one may append in place (the one that made it, or who it was
// moved to); the others copy before they append, and so does everybody before a number that another holder sees is
// changed. References and spans stay valid until the holder they were taken from is changed.
//
// Threads: holders may be read and copied by several threads. To change a holder, all holders of its memory must be
// with one thread; a column that is built by one thread and handed over to another is fine.
template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  using const_iterator = const T*;
  using iterator = const_iterator;

  Column() = default;
  Column(std::initializer_list<T> values) { Append({values.begin(), values.size()}); }
  explicit Column(std::span<const T> values) { Append(values); }
  Column(const Column& other) : size_(other.size_) {
    if (size_ == 0) return;
    buffer_ = other.buffer_;
    other.Lend(size_);
  }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(const Column& other) {
    if (this != &other) Column(other).swap(*this);
    return *this;
  }
  Column& operator=(Column&& other) noexcept {
    Column(std::move(other)).swap(*this);
    return *this;
  }
  ~Column() = default;

  void swap(Column& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    const std::size_t lent = LentSize();
    SetLent(other.LentSize());
    other.SetLent(lent);
  }

  // ---- reading

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return buffer_.get(); }
  const T& operator[](std::size_t index) const { return buffer_.get()[index]; }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  friend bool operator==(const Column& a, const Column& b) { return a.SameAs(b); }
  friend bool operator==(const Column& a, const std::vector<T>& b) { return a.SameAs(b); }

  // ---- sharing

  // The first `count` numbers, O(1).
  Column Prefix(std::size_t count) const {
    Column prefix;
    prefix.size_ = std::min(count, size_);
    if (prefix.size_ == 0) return prefix;
    prefix.buffer_ = buffer_;
    Lend(prefix.size_);
    return prefix;
  }
  // Whether this is known to be how `whole` begins without looking at the numbers: both share their memory, or this is
  // empty.
  bool IsSharedPrefixOf(const Column& whole) const {
    return size_ == 0 || (size_ <= whole.size_ && buffer_ == whole.buffer_);
  }

  // ---- appending

  // Inline, because readers of event files spend their time here.
  void push_back(T value) {
    if (size_ >= room_) Grow(1);
    buffer_.get()[size_++] = value;
  }
  // `values` are none of this column's own.
  void Append(std::span<const T> values) {
    if (values.empty()) return;
    if (room_ < size_ + values.size()) Grow(values.size());
    std::copy(values.begin(), values.end(), buffer_.get() + size_);
    size_ += values.size();
  }
  // Appends `value` up to that size.
  void FillTo(std::size_t size, T value) {
    if (size <= size_) return;
    if (room_ < size) Grow(size - size_);
    std::fill(buffer_.get() + size_, buffer_.get() + size, value);
    size_ = size;
  }
  // Numbers that can be appended up to this size without moving them; 0 for one that has to copy first.
  std::size_t capacity() const { return room_; }
  void reserve(std::size_t capacity) {
    if (capacity > room_) MoveTo(std::max(capacity, size_));
  }

  // ---- changing what is there

  // The numbers from `first` on, to be written to. Copied before, when another holder sees any of them.
  std::span<T> MutableFrom(std::size_t first) {
    if (first >= size_) return {};
    if (!IsOwn(first)) MoveTo(size_ + size_ / 2);  // who changes a number mostly goes on appending
    return {buffer_.get() + first, size_ - first};
  }
  std::span<T> Mutable() { return MutableFrom(0); }
  // There is one.
  void ReplaceLast(T value) { MutableFrom(size_ - 1).front() = value; }
  // Drops what stands behind the first `size`, O(1).
  void Truncate(std::size_t size) {
    if (size >= size_) return;
    if (!IsOwn(size)) room_ = 0;
    size_ = size;
    if (size_ == 0 && room_ == 0) buffer_.reset();
  }
  void clear() { Truncate(0); }

 private:
  static constexpr std::size_t kLeastRoom = 4;

  template <class Range>
  bool SameAs(const Range& other) const {
    return size_ == other.size() && std::equal(begin(), end(), other.begin());
  }

  std::size_t LentSize() const { return lent_.load(std::memory_order_relaxed); }
  void SetLent(std::size_t size) { lent_.store(size, std::memory_order_relaxed); }
  // A holder sees that much from now on. Several threads may copy one column; readers have nothing to remember, since
  // the one they are copies of remembers it.
  void Lend(std::size_t size) const {
    if (room_ == 0) return;
    std::size_t lent = LentSize();
    while (lent < size && !lent_.compare_exchange_weak(lent, size, std::memory_order_relaxed)) {
    }
  }
  // Whether no other holder sees what stands from there on.
  bool IsOwn(std::size_t first) {
    if (room_ == 0) return false;
    if (buffer_.use_count() == 1) SetLent(0);
    return first >= LentSize();
  }
  void Grow(std::size_t more) { MoveTo(std::max({kLeastRoom, 2 * size_, size_ + more})); }
  // Other holders keep the memory that they have.
  void MoveTo(std::size_t capacity) {
    auto next = std::make_shared_for_overwrite<T[]>(capacity);
    std::copy(begin(), end(), next.get());
    buffer_ = std::move(next);
    room_ = capacity;
    SetLent(0);
  }

  std::shared_ptr<T[]> buffer_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;                         // numbers may be written in place up to here; 0: this is a reader
  mutable std::atomic<std::size_t> lent_ = {0};  // the most that other holders see, while there are any
};

}  // namespace vigil
