// Python tracebacks in a log, also boxed ones (rich), also of several ranks through each other, also groups of
// exceptions, which are drawn as a tree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vigil::textlog {

// What the training was doing, by the functions of a stack.
enum class Stage : std::uint8_t { kTraining, kEvaluation, kSaving, kOptimizer };

// An exception that reached its traceback's end.
struct Exception {
  std::string type;           // "torch.OutOfMemoryError"
  std::string message;        // first line of it
  std::string frame;          // innermost frame: "train.py:12 in forward"
  bool ends_process = false;  // uncaught: the stack begins at the module, as only the interpreter itself prints it
  bool is_chained = false;    // raised while or because another one, told before, was handled
  std::uint32_t line = 0;     // of the exception's own text
  Stage stage = Stage::kTraining;
};

// Takes the lines of all ranks, and tells an exception when its own line has come. O(1) per line.
class TracebackReader {
 public:
  // Where a line stands with respect to tracebacks. kFrame: a frame or a line of source code in one; nothing in it is
  // a message of the run.
  enum class Place : std::uint8_t { kOutside, kFrame, kException };

  Place Consume(std::string_view text, std::int32_t rank, std::uint32_t line, std::optional<Exception>& exception);
  // Inside a traceback: every line is wanted.
  bool is_open() const { return open_ != 0; }

 private:
  // kInGroup: between the exceptions of a group.
  enum class State : std::uint8_t { kNone, kFrames, kBoxed, kAwaitType, kInGroup };
  // A tree of exceptions: its own frames say whether it ended the process, the exceptions in it say why.
  struct Group {
    bool is_open = false;
    bool ends_process = false;
    bool has_told = false;     // one of its exceptions was told
    bool may_be_over = false;  // its last line was drawn, but another branch may follow
  };
  struct Stack {
    State state = State::kNone;
    std::string frame;
    std::size_t indent = 0;  // spaces before the whole traceback, as in a launcher's table
    Stage stage = Stage::kTraining;
    bool from_module = false;
    bool has_frames = false;
    bool chained = false;  // a sentence announced that the next traceback belongs to the last exception
    std::size_t lines = 0;
    Group group;
  };

  void Open(Stack& stack, std::string_view header);
  void Close(Stack& stack);
  bool PassTree(Stack& stack, std::string_view& text);
  void FinishException(Stack& stack, Exception& exception);
  static void TakeFrame(Stack& stack, std::string frame);
  Place ConsumeFrames(Stack& stack, std::string_view text, std::uint32_t line, std::optional<Exception>& exception);
  Place ConsumeBoxed(Stack& stack, std::string_view text);

  std::map<std::int32_t, Stack> stacks_;  // by rank
  std::size_t open_ = 0;
};

// The exception type at the front of a line, empty when the line does not begin with one: "ValueError: bad" and
// "KeyboardInterrupt", but not "INFO: fine" or a sentence.
std::string_view ExceptionType(std::string_view text);

}  // namespace vigil::textlog
