#include "clouds/user_data.h"

#include <fmt/format.h>

#include "host/secret.h"

namespace stint {
namespace {

constexpr const char* kGiveBackFile = "/var/lib/stint/give-back";

/// One that no line of either part is.
std::string boundary_of(const std::string& first, const std::string& second) { return "stint-" + sha256_hex(first + second); }

}  // namespace

std::string first_start_script(const FirstStart& first) {
  std::string script = fmt::format(
      "#!/bin/sh\n# The machine's name.\nmkdir -p /var/lib/stint\necho '{}' >/var/lib/stint/machine\n", first.machine);
  const bool gives_back = !first.give_back.empty();
  if (gives_back) script += fmt::format("cat >{0} <<'GIVE-BACK'\n{1}GIVE-BACK\nchmod 755 {0}\n", kGiveBackFile, first.give_back);
  if (!first.lifetime) return script;
  // The end is an instant, written once: a restart does not put it off.
  script += fmt::format(
      "# It ends by itself, whatever becomes of who made it.\n"
      "[ -s /var/lib/stint/ends ] || echo $(($(date +%s) + {})) >/var/lib/stint/ends\n"
      "mkdir -p /var/lib/cloud/scripts/per-boot\n"
      "cat >/var/lib/cloud/scripts/per-boot/stint-ends <<'END'\n"
      "#!/bin/sh\n"
      "left=$((($(cat /var/lib/stint/ends) - $(date +%s)) / 60))\n"
      "[ \"$left\" -gt 0 ] || left=0\n"
      "{}"
      "exec shutdown -P \"+$left\"\n"
      "END\n"
      "chmod 755 /var/lib/cloud/scripts/per-boot/stint-ends\n"
      "/var/lib/cloud/scripts/per-boot/stint-ends\n",
      first.lifetime->whole_seconds(),
      gives_back ? fmt::format("setsid sh -c \"sleep $((left * 60)); {}\" >/dev/null 2>&1 &\nleft=$((left + 2))\n", kGiveBackFile)
                 : "");
  return script;
}

Result<std::string> user_data_of(const FirstStart& first, size_t most) {
  const std::string script = first_start_script(first);
  if (first.user_part.empty()) return script;
  const std::string boundary = boundary_of(script, first.user_part);
  std::string data = fmt::format("Content-Type: multipart/mixed; boundary=\"{}\"\nMIME-Version: 1.0\n", boundary);
  const auto add = [&](std::string_view type, const std::string& part) {
    data += fmt::format("\n--{}\nContent-Type: {}; charset=\"utf-8\"\n\n{}\n", boundary, type, part);
  };
  add("text/x-shellscript", script);
  add(first.user_part.starts_with("#cloud-config") ? "text/cloud-config" : "text/x-shellscript", first.user_part);
  data += fmt::format("--{}--\n", boundary);
  if (data.size() > most)
    return invalid("user data of {} bytes: the cloud takes {}, {} of which Stint needs: have it fetch the rest", data.size(),
                   most, data.size() - first.user_part.size());
  return data;
}

}  // namespace stint
