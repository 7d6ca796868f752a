// What readers of JSON documents with numbers by the name of a metric share: the walk over a document that comes in
// pieces, names and numbers in it, a series for each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/codec.h"
#include "ingest/format.h"

namespace vigil::formats {

// The key that the scanner stands at, bounded and fit to be shown.
std::string MetricName(const codec::JsonScanner& scanner);
// A number, also one in quotes, as `default=str` writes those of numpy. Nothing for any other token.
std::optional<double> NumberIn(codec::JsonToken token, const codec::JsonScanner& scanner);

// The series of the metrics of a document, opened as their names come.
class NamedSeries {
 public:
  explicit NamedSeries(ingest::PartBuilder& builder) : builder_(builder) {}
  // Nothing when there are too many.
  std::optional<ingest::PartBuilder::SeriesId> Of(const std::string& name);

 private:
  ingest::PartBuilder& builder_;
  std::optional<ingest::PartBuilder::SeriesId> open_;
  std::string open_name_;
};

// A document that is read token by token and replaced as a whole when it is written again.
class DocumentReader : public ingest::Reader {
 public:
  explicit DocumentReader(ingest::PartBuilder& builder) : builder_(builder) {}

  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }
  std::size_t Consume(std::string_view bytes, bool last) override;

 protected:
  ingest::PartBuilder& builder() { return builder_; }

 private:
  // Takes all that the scanner has; returns the token that ended it: kNeedMore, kEnd or kBroken.
  virtual codec::JsonToken Advance(codec::JsonScanner& scanner) = 0;
  // The document is at its end, or damaged from here on.
  virtual void Conclude() = 0;

  ingest::PartBuilder& builder_;
  codec::JsonScanner scanner_;
  std::uint64_t taken_ = 0;
  bool over_ = false;
};

}  // namespace vigil::formats
