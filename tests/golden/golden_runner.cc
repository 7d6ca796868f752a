// Runs golden cases: a folder with `cmd` (arguments of vigil, one call a line, quoted as for a shell) and
// `expected.txt` (what it printed and its exit code). Calls run in the root of the repository, so a case may name
// tests/fixtures/...; {case} stands for the case's own folder and {work} for an empty scratch folder.
//   setup        optional shell script, run first in the scratch folder: makes inputs that are too odd or too large to
//   keep expected/F   optional: the file F that the call must leave in the scratch folder
// Nothing is normalised but the version, which becomes {version}, and the scratch folder.
//
// usage: golden_runner [--rewrite] VIGIL CASE_FOLDER...
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "support/shell.h"

namespace {

namespace fs = std::filesystem;
using vigil::testing_support::Outcome;
using vigil::testing_support::QuoteForShell;
using vigil::testing_support::ReplaceAll;
using vigil::testing_support::RunShell;
using vigil::testing_support::RunVigil;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteAll(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// A scratch folder that goes when the case ends.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "vigil-golden-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      fmt::print(stderr, "{}: cannot be made\n", pattern);
      std::exit(2);
    }
    path_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Runner {
 public:
  Runner(std::string vigil, bool rewrite) : vigil_(std::move(vigil)), rewrite_(rewrite) {
    version_ = RunShell(QuoteForShell(vigil_) + " --version").output;
    version_ = version_.substr(version_.find_last_of(' ') + 1);
    while (!version_.empty() && version_.back() == '\n') version_.pop_back();
  }

  // Whether the case came out as expected.
  bool Run(const fs::path& folder) const {
    const Scratch scratch;
    if (fs::exists(folder / "setup")) {
      const Outcome made = RunShell(fmt::format("cd {} && sh -eu {} 2>&1", QuoteForShell(scratch.path()),
                                                QuoteForShell(fs::absolute(folder / "setup").string())));
      if (made.code != 0) return Complain(folder, fmt::format("setup ended with {}:\n{}", made.code, made.output));
    }
    bool right = Check(folder / "expected.txt", Transcript(folder, scratch));
    if (fs::exists(folder / "expected")) {
      for (const auto& entry : fs::directory_iterator(folder / "expected")) {
        const fs::path made = fs::path(scratch.path()) / entry.path().filename();
        right &= fs::exists(made) ? Check(entry.path(), Normalise(ReadAll(made), scratch))
                                  : Complain(entry.path(), "the call did not leave this file in {work}");
      }
    }
    return right;
  }

 private:
  std::string Normalise(std::string text, const Scratch& scratch) const {
    text = ReplaceAll(std::move(text), scratch.path(), "{work}");
    return version_.empty() ? text : ReplaceAll(std::move(text), version_, "{version}");
  }

  // What a person at a terminal would have seen: each call, its output, its complaints, its exit code.
  std::string Transcript(const fs::path& folder, const Scratch& scratch) const {
    std::istringstream calls(ReadAll(folder / "cmd"));
    std::string transcript;
    for (std::string call; std::getline(calls, call);) {
      if (call.empty() || call[0] == '#') continue;
      const std::string arguments = ReplaceAll(ReplaceAll(call, "{case}", folder.string()), "{work}", scratch.path());
      const std::string complaints_path = scratch.path() + "/.stderr";
      const Outcome outcome = RunVigil(vigil_, arguments + " 2>" + QuoteForShell(complaints_path));
      transcript += fmt::format("$ vigil {}\n{}", call, Normalise(outcome.output, scratch));
      if (!transcript.ends_with('\n')) transcript += "\n[no newline at the end]\n";
      const std::string complaints = Normalise(ReadAll(complaints_path), scratch);
      if (!complaints.empty()) transcript += "[stderr]\n" + complaints;
      transcript += fmt::format("[exit {}]\n", outcome.code);
    }
    return transcript;
  }

  bool Check(const fs::path& path, const std::string& actual) const {
    if (ReadAll(path) == actual) return true;
    if (rewrite_) {
      WriteAll(path, actual);
      fmt::print("{}: rewritten\n", path.string());
      return true;
    }
    const Scratch scratch;
    WriteAll(scratch.path() + "/actual", actual);
    const Outcome difference =
        RunShell(fmt::format("diff -u -N --label expected --label actual {} {}", QuoteForShell(path.string()),
                             QuoteForShell(scratch.path() + "/actual")));
    return Complain(path, "differs (`make golden` rewrites it):\n" + difference.output);
  }

  static bool Complain(const fs::path& path, const std::string& what) {
    fmt::print("{}: {}\n", path.string(), what);
    return false;
  }

  std::string vigil_;
  std::string version_;
  bool rewrite_;
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  const bool rewrite = !words.empty() && words.front() == "--rewrite";
  if (rewrite) words.erase(words.begin());
  if (words.size() < 2) {
    fmt::print(stderr, "usage: golden_runner [--rewrite] VIGIL CASE_FOLDER...\n");
    return 2;
  }
  const Runner runner(fs::absolute(words.front()).string(), rewrite);
  std::size_t wrong = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!runner.Run(words[i])) ++wrong;
  }
  return wrong == 0 ? 0 : 1;
}
