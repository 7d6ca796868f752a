#include "formats/notebook/notebook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "ingest/ingest.h"

namespace vigil::formats {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kBook =
    R"({"cells": [{"cell_type": "code", "source": ["print('step 9 loss 9.5')\n", "step 8 loss 8.5\n"],)"
    R"( "outputs": [{"name": "stdout", "output_type": "stream", "text": ["step 1 loss 2.5\n", "step 2 loss 2.25\n"]},)"
    R"( {"output_type": "error", "ename": "RuntimeError", "traceback": ["Traceback (most recent call last):\n",)"
    R"( "  File \"a.py\", line 3, in f\n", "RuntimeError: CUDA out of memory\n"]}]}], "nbformat": 4})";

const ingest::Format& Row() { return *Find("notebook"); }

model::Run Read(std::string_view text, std::size_t piece = 0) {
  auto part = ingest::ReadBytes("train.ipynb", text, Row(), piece);
  EXPECT_TRUE(part) << part.error().Text();
  return part ? std::move(*part) : model::Run();
}

TEST(Notebook, IsKnownByItsCells) {
  EXPECT_EQ(Recognise({"train.ipynb", kBook, kBook.size()}), &Row());
  constexpr std::string_view kOther = R"({"cells": 3, "lr": 0.1})";
  EXPECT_EQ(RecogniseNotebook({"a.json", kOther, kOther.size()}), 0);
}

TEST(Notebook, HoldsWhatItsCellsPrintedAndNotTheirSource) {
  const model::Run part = Read(kBook);
  ASSERT_NE(part.Find("loss"), nullptr);
  EXPECT_THAT(part.Find("loss")->steps, ElementsAre(1, 2));
  EXPECT_FALSE(part.events.empty()) << "the traceback of a cell";
}

TEST(Notebook, IsTheSameInPieces) {
  for (const std::size_t piece : {1U, 7U, 100U}) {
    const model::Run part = Read(kBook, piece);
    ASSERT_NE(part.Find("loss"), nullptr);
    EXPECT_THAT(part.Find("loss")->values, ElementsAre(2.5, 2.25));
  }
}

TEST(Notebook, ATableInHtmlIsATable) {
  std::string rows = "<tr><th>Step</th><th>Training Loss</th><th>Validation Loss</th></tr>";
  for (int i = 1; i <= 3; ++i) rows += fmt::format("<tr><td>{}</td><td>{}.5</td><td>4.5</td></tr>", 10 * i, 4 - i);
  const std::string book = R"({"cells": [{"cell_type": "code", "outputs": [{"data": {"text/html": [")" + rows +
                           R"("], "text/plain": ["<object>"]}}]}], "nbformat": 4})";
  const model::Run part = Read(book);
  ASSERT_NE(part.Find("loss"), nullptr);
  EXPECT_THAT(part.Find("loss")->steps, ElementsAre(10, 20, 30));
  ASSERT_NE(part.Find("eval_loss"), nullptr);
}

TEST(Notebook, IsReadUpToWhereItIsCut) {
  for (std::size_t end = 0; end < kBook.size(); ++end)
    static_cast<void>(ingest::ReadBytes("train.ipynb", kBook.substr(0, end), Row()));
}

}  // namespace
}  // namespace vigil::formats
