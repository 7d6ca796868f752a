// Rings that killed processes left: words of a sound one are overwritten, three bytes for the place and one for a word
// each, and it is emptied into its journal.
#include "journal/ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "journal/journal.h"
#include "journal/mover.h"

namespace {

namespace fs = std::filesystem;
using namespace vigil::journal;

// Under a name that is not this process's own: it is to be taken for another's.
std::string MakeLeftRing(const std::string& folder) {
  RingOptions small;
  small.lane_bytes = 32U << 10U;
  Ring ring = Ring::Create(small).value();
  const std::string name = Ring::NamePrefix() + "fuzz" + Ring::NewName().substr(Ring::NamePrefix().size() + 4);
  ring.Publish(name);
  MoverOptions options;
  options.folder = folder;
  const auto mover = Mover::Create(ring, options).value();
  ring.ReserveLane(1);
  Definition definition;
  definition.name = "loss";
  ring.AddDefinition(EncodeEntry(definition));
  LaneWriter samples = ring.Writer(1);
  for (std::int64_t step = 0; step < 300; ++step) static_cast<void>(samples.AddScalar(0, step, 1.5, 1));
  static_cast<void>(ring.Writer(kTextLane).AddText(Section::kHyperparameters,
                                                   EncodeEntry(Hyperparameter{1, "key", std::string(9000, 'v')})));
  return name;
}

void Overwrite(const std::string& path, const std::uint8_t* data, std::size_t size) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto bytes = static_cast<std::uint64_t>(::lseek(file, 0, SEEK_END));
  for (; size >= 4; data += 4, size -= 4) {
    const std::uint64_t word_at = data[0] + (std::uint64_t{data[1]} << 8U) + (std::uint64_t{data[2]} << 16U);
    const std::uint64_t place = word_at * 8 % bytes;
    const std::uint64_t word = std::uint64_t{data[3]} << (data[3] % 57U);
    static_cast<void>(::pwrite(file, &word, sizeof(word), static_cast<off_t>(place)));
  }
  ::close(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string folder = (fs::temp_directory_path() / "vigil_fuzz_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 0;
  const std::string name = MakeLeftRing(folder);
  const std::string path = "/dev/shm/" + name;
  if (fs::exists(path)) {
    Overwrite(path, data, size);
    DrainOptions options;
    options.places = {folder};
    DrainLeftovers(options);
    fs::remove(path);
    fs::remove("/dev/shm/damaged-" + name);
  }
  fs::remove_all(folder);
  return 0;
}
