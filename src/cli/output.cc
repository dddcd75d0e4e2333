#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/text.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr int64_t kUsualColumns = 80;
constexpr int64_t kLeastColumns = 40;
constexpr int64_t kMostColumns = 10'000;

bool wide_wanted = false;  // for the whole run, by the command line

size_t columns_of(int descriptor) {
  const auto within = [](int64_t columns) { return static_cast<size_t>(std::clamp(columns, kLeastColumns, kMostColumns)); };
  const char* told = std::getenv("COLUMNS");
  if (told != nullptr)
    if (const std::optional<int64_t> columns = parse_int(told); columns && *columns > 0) return within(*columns);
  if (isatty(descriptor) == 0) return 0;
  winsize window = {};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return within(known ? window.ws_col : kUsualColumns);
}

Screen screen_of(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool colour = isatty(descriptor) != 0 && (no_color == nullptr || *no_color == '\0');
  return {colour ? Colour::kYes : Colour::kNo, columns_of(descriptor)};
}

}  // namespace

Screen screen_of_stdout() {
  Screen screen = screen_of(STDOUT_FILENO);
  if (wide_wanted) screen.width = 0;
  return screen;
}
Screen screen_of_stderr() { return screen_of(STDERR_FILENO); }

Status write_text(std::string_view text) { return write_output("", fitted(printable_lines(text), screen_of_stdout())); }
void print_fitted(std::string_view text) { fmt::print("{}", fitted(text, screen_of(STDOUT_FILENO))); }
void tell_fitted(std::string_view text) { fmt::print(stderr, "{}", fitted(printable_lines(text), screen_of_stderr())); }

void show_wide() { wide_wanted = true; }

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
