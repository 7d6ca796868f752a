// Secrets in what files say are masked where they come in; what only looks like one stays.
#include "ingest/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/part_builder.h"

namespace vigil::ingest {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Made up here, so that no scanner takes this file for a leak.
std::string Made(std::string_view prefix, std::size_t length) {
  std::string secret(prefix);
  for (std::size_t i = 0; i < length; ++i) secret += static_cast<char>((i % 2 == 0 ? 'A' : 'a') + i * 7 % 26);
  return secret;
}

TEST(Secrets, OfKnownShapesAreMasked) {
  const std::string tokens[] = {Made("hf_", 34),   Made("sk-", 40),         Made("sk-ant-", 40),
                                Made("ghp_", 36),  Made("glpat-", 20),      Made("AIza", 35),
                                Made("xoxb-", 20), Made("github_pat_", 60), Made("AKIA", 0) + "ABCDEFGHIJKLMNOP"};
  for (const std::string& token : tokens) {
    const std::string text = "could not log in with " + token + ", giving up";
    EXPECT_EQ(WithoutSecrets(text), "could not log in with [masked], giving up") << token;
  }
  EXPECT_EQ(WithoutSecrets("git clone https://me:pass-word1@host/repo"), "git clone https://me:[masked]@host/repo");
  EXPECT_EQ(WithoutSecrets("Authorization: Bearer " + Made("", 40)), "Authorization: Bearer [masked]");
  EXPECT_EQ(WithoutSecrets("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"), "[masked]");
}

TEST(Secrets, ThatAreAssignedToTheirNamesAreMasked) {
  const std::string value = Made("", 40);
  for (const std::string_view before : {"WANDB_API_KEY=", "export AWS_SECRET_ACCESS_KEY=", "password: ", "--api-key=",
                                        "\"hub_token\": \"", "'client_secret': '", "db_passwd = "}) {
    const std::string text = std::string(before) + value;
    EXPECT_EQ(WithoutSecrets(text), std::string(before) + "[masked]");
  }
}

TEST(Secrets, WhatOnlyLooksLikeOneStays) {
  for (const std::string text :
       {"eos_token: <|endoftext|>", "tokens_per_second: 123456.789", "train/loss=2.5 num_tokens=123456789",
        "pad_token = '[PAD-LONG]'", "the secret of success", "sk-short", "s3://bucket/path:with:colons/file",
        "key: value_of_a_setting", "http://host:8080/path@v2", "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "api_key: None", "use_auth_token=False"}) {
    EXPECT_EQ(WithoutSecrets(text), text);
  }
}

TEST(Secrets, InEventsSettingsAndNotesNeverComeIn) {
  const std::string secret = Made("hf_", 34);
  PartBuilder builder("train.log", "log-text");
  model::Event event;
  event.text = "401 for " + secret;
  builder.AddEvent(event);
  builder.AddFact("wandb.api_key", "0123456789abcdef");
  builder.AddFact("hub_token", "None");
  builder.AddFact("note", "see " + secret);
  builder.AddFact("lr", "0.001");
  const model::Run part = builder.Finish();
  EXPECT_EQ(part.events[0].text, "401 for [masked]");
  EXPECT_EQ(part.facts[0].value, "[masked]");
  EXPECT_EQ(part.facts[1].value, "None");
  EXPECT_EQ(part.facts[2].value, "see [masked]");
  EXPECT_EQ(part.facts[3].value, "0.001");
}

TEST(Secrets, AreKeptWhenAsked) {
  KeepSecrets(true);
  const std::string text = "with " + Made("hf_", 34);
  EXPECT_EQ(WithoutSecrets(text), text);
  EXPECT_EQ(WithoutSecrets("password", "open sesame"), "open sesame");
  KeepSecrets(false);
  EXPECT_THAT(WithoutSecrets(text), Not(HasSubstr("hf_")));
}

}  // namespace
}  // namespace vigil::ingest
