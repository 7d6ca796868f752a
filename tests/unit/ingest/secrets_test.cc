// Secrets in what files say are masked where they come in; what only looks like one stays.
#include "ingest/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/says.h"
#include "ingest/part_builder.h"
#include "platform/clock.h"

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

// Each is a text whose secret stands between two bars.
TEST(Secrets, AreMaskedWhereverTheyAreWritten) {
  const std::string mixed = "a1B2c3D4e5F6g7H8i9J0k1L2";
  const std::string hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567";
  for (const std::string& marked : std::vector<std::string>{
           "python train.py --api-key |" + mixed + "| --lr 0.1",
           "python train.py --api_key=|" + mixed + "|",
           R"(["train.py", "--api-key", "|)" + mixed + R"(|"])",
           "wandb login |" + hex + "|",
           "wandb login |0123456789abcdef0123456789abcdef01234567|",
           "MY_SECRET_TOKEN=|abcDEF123456789xyz|",
           "|r8_Ab3dEf9hJ2kLm5Np7QrS1tUv4WxYz6Aa8Bb0C|",
           "X-Amz-Signature=|9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08|",
           "wandb login --relogin |" + hex + "|",
           "export HF_TOKEN=|" + mixed + "|",
           "token=|" + mixed + "|",
           "huggingface-cli login --token |" + mixed + "|",
           "push_to_hub(token='|" + mixed + "|')",
           "os.environ[\"WANDB_API_KEY\"] = \"|" + mixed + "|\"",
           "https://hooks.slack.com/services/|T012ABCDE/B012ABCDE/" + mixed + "|",
           "DefaultEndpointsProtocol=https;AccountKey=|" + mixed + "+/" + mixed + "==|;EndpointSuffix=x",
           "https://a.blob.core.windows.net/c/f?sv=2022-11-02&sig=|" + mixed + "%2B" + mixed + "%3D|&sp=r",
           "aws_secret_access_key = |wJalrXUtnFEMI/K7MDENG/" + mixed + "|",
           "aws_access_key_id=|" + std::string("AKIA") + "0123456789ABCDEF|",
           "got |" + std::string("ASIA") + "0123456789ABCDEF| back",
           "|" + std::string("gho_") + mixed + mixed + "|",
           "|" + std::string("sk-") + mixed + "|",
           "|" + std::string("sk-proj-") + mixed + "-" + mixed + "|",
           "|" + std::string("sk-or-v1-") + hex + hex + "|",
           R"(text\n|)" + std::string("hf_") + mixed + "|",
           "cookie |" + std::string("eyJ") +
               "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P|",
           R"(curl -H "Authorization: Bearer |)" + mixed + R"(|")",
           R"({'Authorization': 'Basic |)" + mixed + R"(=='|})",
           "with Bearer |" + mixed + "|",
           R"({"apiKey": "|)" + mixed + R"(|"})",
           R"({"accessToken":"|)" + mixed + R"(|"})",
           R"(\"clientSecret\": \"|)" + mixed + R"(|\")",
           "Incorrect API key: |" + mixed + "|",
           R"(password="|open sesame now|" user="bob")",
           "passwd: |hunter2|",
           "https://u:|p@ss|@host/x@y",
           "redis://:|pass|@10.0.0.1:6379/0",
           "https://bob:|p?ss#1|@host/",
           "see |-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----| end",
           "|-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg|",
       }) {
    const std::size_t first = marked.find('|');
    const std::size_t last = marked.rfind('|');
    std::string text = marked;
    std::erase(text, '|');
    const std::string quoted = marked[last - 1] == '\'' ? "'" : "";
    const std::string expected = marked.substr(0, first) + "[masked]" + quoted + marked.substr(last + 1);
    EXPECT_EQ(WithoutSecrets(text), expected) << text;
    EXPECT_EQ(WithoutSecrets(expected), expected) << "masked text is masked no further";
  }
}

TEST(Secrets, WhatOnlyLooksLikeOneStays) {
  for (const std::string text : {"eos_token: <|endoftext|>",
                                 "tokens_per_second: 123456.789",
                                 "train/loss=2.5 num_tokens=123456789",
                                 "pad_token = '[PAD-LONG]'",
                                 "the secret of success",
                                 "sk-short",
                                 "s3://bucket/path:with:colons/file",
                                 "key: value_of_a_setting",
                                 "http://host:8080/path@v2",
                                 "commit 3f786850e387550fdab836ed7e6dc881de23001b",
                                 "api_key: None",
                                 "use_auth_token=False",
                                 "/data/europarl/sk-en-parallel-corpus-cleaned/x",
                                 "/runs/sk-learn-baseline-large-batch/",
                                 "/runs/sk-proj-baseline-large-batch-size-512/",
                                 "/runs/sk-transformersbaselinelargebatch/",
                                 "    api_key = os.environ[\"WANDB_API_KEY\"]",
                                 "    self.password=self.config.password",
                                 "    connect(user=user, password=db_password)",
                                 "    api_key = getpass.getpass(prompt)",
                                 "    def login(self, password: str = None):",
                                 "export HF_TOKEN=$HF_TOKEN",
                                 "credentials: /home/u/key.json",
                                 "private_key: ~/.ssh/id_ed25519",
                                 "http://10.0.0.1:8080?user=bob@example.com",
                                 "secret=tensor_parallel",
                                 "secret=TensorParallel",
                                 "max_tokens=512",
                                 "pad_token=<pad>",
                                 "token_type_ids",
                                 "num_tokens: 12345678",
                                 "1234 tokens/s",
                                 "bos_token_id=1",
                                 "tokenizer=gpt2",
                                 "token: 50256",
                                 "image_token=<image_soft_token_0001>",
                                 "sig=0.0123456789012345",
                                 "dataset: HuggingFaceFW/fineweb-edu-10BT-sample-2024",
                                 "checkpoint-500/global_step500/mp_rank_00_model_states.pt",
                                 "password: authentication failed for user bob",
                                 "ASIATICLANGUAGEMODEL",
                                 "hf_transformersbaselinemodellarge",
                                 "hub_token=<HUB_TOKEN>",
                                 "password=********",
                                 "bearer of the good news which is long",
                                 "num_key_value_heads=8, sort_key=length_descending"}) {
    EXPECT_EQ(WithoutSecrets(text), text);
  }
}

// Work for each place where a shape begins would be a second a kilobyte.
TEST(Secrets, AreLookedForInOnePassWhateverTheText) {
  for (const std::string_view piece : {"sk-sk-sk-",
                                       "sk-proj-",
                                       "://a:b@",
                                       "a://b:c",
                                       "eyJ-",
                                       "eyJaaaaaaaaaaaaaa.",
                                       "password=/",
                                       "password=a.",
                                       "password=\"",
                                       "api_key=",
                                       "--token ",
                                       "--password \\\"",
                                       "wandb login ",
                                       "Bearer ",
                                       "-----BEGIN PRIVATE KEY",
                                       "-----BEGIN PRIVATE KEY-----",
                                       "authorization: ",
                                       "hooks.slack.com/services/",
                                       "secret=\\\\\\",
                                       "hf_",
                                       "    =",
                                       "\"\"\"\"\"\":"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    const double begin = platform::ThreadSeconds();
    static_cast<void>(WithoutSecrets(text));
    EXPECT_LT(platform::ThreadSeconds() - begin, 30) << piece;  // quadratic, it would be hours
  }
}

TEST(Secrets, ComeInWithNoKindOfText) {
  const std::string secret = Made("hf_", 34);
  PartBuilder builder("train.log", "log-text");
  model::Event event;
  event.name = "name " + secret;
  event.text = "401 for " + secret;
  event.detail = "f(" + secret + ")";
  event.says = says::NoteUnrecognisedLine{.line = 1, .text = model::Quote{secret, {}, 1}};
  builder.AddEvent(event);
  builder.AddNote(says::NoteUnrecognisedLine{.line = 1, .text = model::Quote{secret, {}, 1}});
  builder.AddArtifact({"kind " + secret, "s3://bucket/" + secret, {}});
  builder.SetName("run " + secret);
  builder.AddFact("key " + secret, secret);
  builder.Add(builder.OpenSeries("loss " + secret, {{"label", secret}, {"api_key", "0123456789"}}), 1, 1);
  PartBuilder& inner = builder.OpenRun("id " + secret, "name " + secret);
  const model::Run part = builder.Snapshot();
  const model::Run inner_part = inner.Finish();
  EXPECT_EQ(part.events[0].name, "name [masked]");
  EXPECT_EQ(part.events[0].text, "401 for [masked]");
  EXPECT_EQ(part.events[0].detail, "f([masked])");
  EXPECT_EQ(std::get<model::Quote>(part.events[0].says.arguments[1].value).text, "[masked]");
  EXPECT_EQ(std::get<model::Quote>(part.sources[0].notes[0].arguments[1].value).text, "[masked]");
  EXPECT_EQ(part.artifacts[0].kind, "kind [masked]");
  EXPECT_EQ(part.artifacts[0].path, "s3://bucket/[masked]");
  EXPECT_EQ(part.name, "run [masked]");
  EXPECT_EQ(part.facts[0].key, "key [masked]");
  EXPECT_EQ(part.facts[0].raw_key, "key [masked]");
  EXPECT_EQ(part.facts[0].value, "[masked]");
  EXPECT_EQ(part.series[0].raw, "loss [masked]");
  EXPECT_EQ(part.series[0].labels, (model::Labels{{"api_key", "[masked]"}, {"label", "[masked]"}}));
  EXPECT_EQ(inner_part.name, "name [masked]");
  EXPECT_EQ(inner_part.sources[0].run, "id [masked]");
}

TEST(Secrets, OfSettingsAreMaskedByTheirKeys) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"db.password", "hunter"},
                                                                                   {"db_password", "123456"},
                                                                                   {"wandb.apiKey", "secretvalue"},
                                                                                   {"token", "a1B2c3D4e5F6g7H8"},
                                                                                   {"credentials", "a1B2c3D4"},
                                                                                   {"login.password", "open sesame"}})
    EXPECT_EQ(WithoutSecrets(key, value), "[masked]") << key;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"pad_token", "<pad>"},
                                                                                   {"eos_token", "</s>"},
                                                                                   {"mask_token", "[MASK]"},
                                                                                   {"secret", "tensor_parallel"},
                                                                                   {"credentials", "/home/u/key.json"},
                                                                                   {"hub_token", "None"},
                                                                                   {"api_key", "${oc.env:API_KEY}"},
                                                                                   {"token", "50256"},
                                                                                   {"max_tokens", "512"},
                                                                                   {"tokenizer", "gpt2"},
                                                                                   {"sort_key", "length_descending"}})
    EXPECT_EQ(WithoutSecrets(key, value), value) << key;
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
