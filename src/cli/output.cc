#include "cli/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stint {

Colour colour_of_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0') ? Colour::kYes : Colour::kNo;
}

Status write_output(const std::string& path, std::string_view text) {
  if (path.empty()) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written)
      return make_error(ErrorCode::kUnavailable, "standard output takes no more: is the disk full or the pipe closed?");
    return {};
  }
  const std::string part = fmt::format("{}.part-{}", path, getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path, error);
  if (file && !error) return {};
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return make_error(ErrorCode::kUnavailable, "cannot write {}: check that its folder exists, can be written and has space left",
                    path);
}

}  // namespace stint
