// An audit runner for tests: in place of stint a script that prints an audit of one finding.
#pragma once

#include <filesystem>
#include <string>

#include "base/check.h"
#include "daemon/api/api.h"
#include "daemon/audit_runner.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "store/history_file.h"

namespace stint {

/// @param script  of a shell.
inline std::string put_program(const ScratchDir& dir, const std::string& script) {
  const std::string path = dir / "program";
  put_file(path, "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

/// With a History that is empty. @param options  its clock and findings.
inline AuditRunnerOptions testing_audit_runner(const ScratchDir& dir, const ApiOptions& options) {
  const std::string history = dir / "history.db";
  CHECK(HistoryFile::open(history, OpenMode::kCreate).ok(), "no History");
  const std::string program =
      put_program(dir, R"(echo '{"schema":"stint-audit/1","findings":[{"id":"F-00000002","title":"Made here"}]}')");
  return {.program = program,
          .history = history,
          .clock = options.clock,
          .take = [book = options.findings](std::string_view audit) { return book->put_audit(audit); },
          .last = {}};
}

}  // namespace stint
