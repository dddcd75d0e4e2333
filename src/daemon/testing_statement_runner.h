// A runner of statements for tests: in place of stint a script that writes a page for each of acme and zoo.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "daemon/api/api.h"
#include "daemon/statement_runner.h"
#include "daemon/testing_audit_runner.h"

namespace stint {

/// $7: the folder, as `stint statements` gets it.
inline constexpr const char* kStatementScript = R"(folder=$7
for client in acme zoo; do echo "<html>$client only</html>" > "$folder/$client.html"; done
printf '{"currency":"USD","statements":[{"client":"acme","amount":"12.50","page":"%s/acme.html"},' "$folder"
printf '{"client":"zoo","amount":"7.25","page":"%s/zoo.html"}]}' "$folder")";

/// With the History of testing_audit_runner().
inline StatementRunnerOptions testing_statement_runner(const ScratchDir& dir, const ApiOptions& options) {
  const std::string path = dir / "statements-program";
  put_file(path, fmt::format("#!/bin/sh\n{}\n", kStatementScript));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return {.program = path, .history = dir / "history.db", .folder = dir / "statements", .clock = options.clock};
}

/// Waits for the one that runs. @return whether it went well.
inline bool statements_written(const StatementRunner& statements) {
  while (statements.state().running_since)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return statements.state().error.empty();
}

}  // namespace stint
