// Any bytes as a name, put into each language that Stint writes and read by that language's own interpreter: it stays one text. Shell and
// crontabs are run by a restricted bash, which has no programs, writes no files and starts nothing by a path.
#include <sqlite3.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/quoting.h"
#include "base/text.h"
#include "base/utf8.h"
#include "codec/yaml.h"
#include "host/process.h"

namespace {

using namespace stint;

/// As cron reads a line: it ends at the first % without a backslash; of `\\%` and `\\\\` the first backslash goes.
std::string as_cron_reads(std::string_view line) {
  std::string command;
  bool escaped = false;
  for (const char c : line) {
    if (escaped) {
      if (c == '%' || c == '\\') command.pop_back();
      command += c;
      escaped = false;
      continue;
    }
    if (c == '%') break;
    command += c;
    escaped = c == '\\';
  }
  return command;
}

/// Each of these lines sets the words x and what follows; said is how many there are, and all of them.
void check_shell(std::string_view text) {
  const std::string word = shell_quoted(text);
  const std::string set = "set x " + word;
  const std::string say = "\nshift; printf '%s\\n' \"$#\" \"$@\"\n";
  const std::string script = set + say + "set x " + shell_operand(text) + say + "eval " + shell_quoted(set) + say +
                             as_cron_reads(crontab_command(set)) + say + ": " + word + " # " + one_line(text) + "\necho end\n";
  const auto ran = run_command({"env", "-i", "PATH=/nonexistent", "/bin/bash", "--noprofile", "--norc", "-r", "-c", script},
                               Duration::seconds(20));
  CHECK(ran.ok() && ran->status.shell_code() == 0, "the shell does not take it: {}", script);
  const std::string one = "1\n" + one_line(text) + "\n";
  const std::string operand = text.starts_with('-') ? "2\n--\n" + one_line(text) + "\n" : one;
  CHECK(ran->standard_output == one + operand + one + one + "end\n", "{} becomes {}", script, ran->standard_output);
}

void check_sql(const std::string& text) {
  if (text.find('\0') != std::string::npos) return;
  sqlite3* base = nullptr;
  sqlite3_stmt* asked = nullptr;
  CHECK(sqlite3_open(":memory:", &base) == SQLITE_OK, "no database");
  const std::string sql = "SELECT " + sql_quoted(text) + " AS " + sql_name(text) + ", 1";
  CHECK(sqlite3_prepare_v2(base, sql.c_str(), -1, &asked, nullptr) == SQLITE_OK && sqlite3_step(asked) == SQLITE_ROW,
        "SQL does not take it: {}", sql);
  CHECK(sqlite3_column_count(asked) == 2 && text == reinterpret_cast<const char*>(sqlite3_column_text(asked, 0)) &&
            text == sqlite3_column_name(asked, 0),
        "{} is another text", sql);
  sqlite3_finalize(asked);
  sqlite3_close(base);
}

/// What Terraform makes of the contents of a quoted text: `$${` and `%%{` are `${` and `%{`; those two alone begin a template.
std::string without_templates(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool begins = text[at] == '$' || text[at] == '%';
    const std::string_view rest = text.substr(at);
    CHECK(!begins || !rest.substr(1).starts_with('{'), "a template begins");
    out += text[at];
    if (begins && rest.size() > 2 && rest[1] == rest[0] && rest[2] == '{') {
      out += '{';
      at += 2;
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kLongest = 4'096;
  const std::string text(reinterpret_cast<const char*>(data), std::min(size, kLongest));
  check_shell(text);
  check_sql(text);
  const std::string quoted = json_quoted(text);
  const auto json = nlohmann::json::parse(quoted, nullptr, false);
  CHECK(json.is_string(), "no JSON: {}", quoted);
  const auto value = json.get<std::string>();
  CHECK(!is_utf8(text) || value == text, "another text: {}", quoted);
  const auto yaml = parse_yaml("name: " + quoted + "\n");
  CHECK(yaml.ok() && yaml->at("name") == value, "YAML does not take it: {}", quoted);
  const auto terraform = nlohmann::json::parse(hcl_quoted(text), nullptr, false);
  CHECK(terraform.is_string() && without_templates(terraform.get<std::string>()) == value, "another text: {}", hcl_quoted(text));
  return 0;
}
