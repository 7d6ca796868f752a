#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

using namespace std::string_literals;

TEST(ProtoFields, WalksFieldsOfEveryWireType) {
  const std::string message =
      "\x08\x96\x01"                          // 1: varint 150
      "\x11\x00\x00\x00\x00\x00\x00\xf8\x3f"  // 2: fixed64, 1.5
      "\x1a\x03"
      "abc"                     // 3: bytes
      "\x25\x00\x00\x20\x40"s;  // 4: fixed32, 2.5
  ProtoFields fields(message);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.key(), FieldKey(1, WireType::kVarint));
  EXPECT_EQ(fields.number(), 150);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.key(), FieldKey(2, WireType::kFixed64));
  EXPECT_EQ(fields.AsDouble(), 1.5);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.key(), FieldKey(3, WireType::kBytes));
  EXPECT_EQ(fields.bytes(), "abc");
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.key(), FieldKey(4, WireType::kFixed32));
  EXPECT_EQ(fields.AsFloat(), 2.5F);
  EXPECT_FALSE(fields.Next());
  EXPECT_FALSE(fields.damaged());
}

TEST(ProtoFields, ReadsNegativeNumbersAndFieldNumbersOfSeveralBytes) {
  const std::string message = "\xa0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  ProtoFields fields(message);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.key(), FieldKey(100, WireType::kVarint));
  EXPECT_EQ(fields.AsInt64(), -1);
}

class DamagedProto : public ::testing::TestWithParam<std::string> {};

TEST_P(DamagedProto, EndsTheWalk) {
  ProtoFields fields(GetParam());
  EXPECT_FALSE(fields.Next());
  EXPECT_TRUE(fields.damaged());
  EXPECT_FALSE(fields.Next());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DamagedProto,
    ::testing::Values("\x08"s, "\x08\x80"s, "\x11\x00"s, "\x1a\x05yz"s, "\x25\x00"s,  // cut
                      "\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,                // a length of 2^64 - 1
                      "\x0b"s, "\x0c"s, "\x0e"s,                                      // groups, unknown wire type
                      "\x00\x01"s,                                                    // field number 0
                      "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s));          // a varint without end

TEST(ProtoFields, OfAnEmptyMessageAreNone) {
  ProtoFields fields("");
  EXPECT_FALSE(fields.Next());
  EXPECT_FALSE(fields.damaged());
}

}  // namespace
}  // namespace vigil::codec
