#include "launch/launch_script.h"

#include <fmt/format.h>

#include "base/quoting.h"

namespace stint {

std::string launch_script(const LaunchScript& script) {
  return fmt::format(
      "#!/bin/sh\n"
      "# Made by stint launch.\n"
      "trap 'shutdown -P now' EXIT\n"
      "export HOME=\"${{HOME:-/root}}\"\n"
      "mkdir -p /var/lib/stint/launch && cd /var/lib/stint/launch || exit 1\n"
      "fetched=\n"
      "for try in 1 2 3 4 5; do\n"
      "  curl -fsS --retry 3 --max-time 900 -o stint {0} && echo {1} | sha256sum -c - && fetched=yes && break\n"
      "  sleep 5\n"
      "done\n"
      "[ \"$fetched\" ] || exit 1\n"
      "chmod 755 stint\n"
      "./stint launch-machine {2} {3}{4}\n",
      shell_quoted(script.program), shell_quoted(script.program_sha256 + "  stint"), shell_operand(script.store),
      shell_operand(script.machine), script.cloud == "aws" ? "" : " " + shell_operand(script.cloud));
}

}  // namespace stint
