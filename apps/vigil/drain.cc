// Draining: the one step of reading that writes, so it is said, and can be left out.
#include <fmt/format.h>

#include "command.h"
#include "ingest/secrets.h"
#include "pipeline/pipeline.h"

namespace vigil::app {

void AddDrainOption(CLI::App& command, bool& no_drain) {
  command.add_flag("--no-drain", no_drain,
                   "write nothing: records that killed processes left in shared memory stay there, and are not read");
  command.add_flag("--read-only", no_drain,
                   "the same, for evidence: nothing is written anywhere but to files that are named by options");
}

void AddSecretsOption(CLI::App& command) {
  command.add_flag_callback(
      "--keep-secrets", [] { ingest::KeepSecrets(true); },
      "show tokens, keys and passwords in quoted text and settings as they are; they are masked otherwise");
}

void DrainVisibly(const std::vector<std::string>& paths, bool quiet, bool problems) {
  const pipeline::Drained drained = pipeline::DrainJournals(paths);
  if (drained.records > 0 && !quiet)
    Complain(fmt::format("moved {} records of {} killed process{} from shared memory into {} (--no-drain leaves them)",
                         FormatCount(drained.records), drained.processes, drained.processes == 1 ? "" : "es",
                         drained.processes == 1 ? "its journal" : "their journals"));
  for (const Error& problem : drained.problems) {
    if (problems) Complain(problem.Text());
  }
}

void NameUndrained(const std::vector<std::string>& paths) {
  for (const Error& problem : pipeline::FindUndrained(paths)) Complain(problem.Text());
}

}  // namespace vigil::app
