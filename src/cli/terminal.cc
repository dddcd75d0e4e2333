#include "cli/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace stint {
namespace {

constexpr std::string_view kTake = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kGiveBack = "\x1b[?25h\x1b[?1049l";
/// A lone Escape is one when nothing follows it for so long.
constexpr int kEscapeMilliseconds = 50;

termios before_taken = {};
struct sigaction old_term = {}, old_hangup = {}, old_resize = {};
volatile sig_atomic_t leave = 0;

void on_leave(int) { leave = 1; }
void on_resize(int) {}  // it ends the wait

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      leave = 1;
      return;
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace

Result<Terminal> Terminal::take() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &before_taken) != 0)
    return make_error(ErrorCode::kUnavailable, "standard input and output are no terminal: --once prints it a single time");
  termios raw = before_taken;
  raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO | ISIG | IEXTEN));
  raw.c_iflag &= static_cast<tcflag_t>(~(IXON | ICRNL));
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
    return make_error(ErrorCode::kUnavailable, "the terminal cannot be set up: --once prints it a single time");
  struct sigaction action = {};
  action.sa_handler = on_leave;
  sigaction(SIGTERM, &action, &old_term);
  sigaction(SIGHUP, &action, &old_hangup);
  action.sa_handler = on_resize;
  sigaction(SIGWINCH, &action, &old_resize);
  write_all(kTake);
  Terminal terminal;
  terminal.taken_ = true;
  return terminal;
}

Terminal::Terminal(Terminal&& other) noexcept
    : taken_(std::exchange(other.taken_, false)),
      shown_(std::move(other.shown_)),
      shown_size_(other.shown_size_),
      pending_(std::move(other.pending_)) {}

Terminal::~Terminal() {
  if (!taken_) return;
  write_all(kGiveBack);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_taken);
  sigaction(SIGTERM, &old_term, nullptr);
  sigaction(SIGHUP, &old_hangup, nullptr);
  sigaction(SIGWINCH, &old_resize, nullptr);
}

TopSize Terminal::size() const {
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {.columns = window.ws_col, .rows = window.ws_row};
}

bool Terminal::asked_to_leave() const { return leave != 0; }

std::optional<KeyPress> Terminal::key(Duration patience) {
  if (const auto key = take_key(pending_)) return key;
  const bool half = !pending_.empty();
  pollfd waiting = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const auto milliseconds = static_cast<int>(patience.count_ns() / 1'000'000);
  const int ready = ::poll(&waiting, 1, half ? kEscapeMilliseconds : milliseconds);
  if (ready > 0) {
    std::array<char, 64> bytes = {};
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n <= 0 && errno != EINTR && errno != EAGAIN) leave = 1;
    if (n > 0) pending_.append(bytes.data(), static_cast<size_t>(n));
  } else if (half) {
    pending_.clear();
    return KeyPress{.key = TopKey::kEscape};
  }
  if (pending_.find('\x03') != std::string::npos) leave = 1;
  return take_key(pending_);
}

std::optional<KeyPress> take_key(std::string& bytes) {
  while (!bytes.empty()) {
    const char first = bytes.front();
    if (first == '\x1b') {
      if (bytes.size() == 1) return std::nullopt;
      if (bytes[1] != '[' && bytes[1] != 'O') {
        bytes.erase(0, 1);
        return KeyPress{.key = TopKey::kEscape};
      }
      // Parameters, then a letter or a tilde.
      const size_t end = bytes.find_first_not_of("0123456789;", 2);
      if (end == std::string::npos) return std::nullopt;
      const std::string sequence = bytes.substr(2, end - 1);
      bytes.erase(0, end + 1);
      if (sequence == "A") return KeyPress{.key = TopKey::kUp};
      if (sequence == "B") return KeyPress{.key = TopKey::kDown};
      if (sequence == "5~") return KeyPress{.key = TopKey::kPageUp};
      if (sequence == "6~") return KeyPress{.key = TopKey::kPageDown};
      continue;
    }
    bytes.erase(0, 1);
    if (first == '\r' || first == '\n') return KeyPress{.key = TopKey::kEnter};
    if (first == '\x7f' || first == '\b') return KeyPress{.key = TopKey::kBackspace};
    if (first >= ' ' && first <= '~') return KeyPress{.key = TopKey::kText, .text = first};
  }
  return std::nullopt;
}

void Terminal::show(const std::vector<std::string>& lines) {
  const TopSize now = size();
  std::string out;
  if (now.columns != shown_size_.columns || now.rows != shown_size_.rows) {
    out += "\x1b[2J";
    shown_.clear();
    shown_size_ = now;
  }
  for (size_t i = 0; i < std::max(lines.size(), shown_.size()); ++i) {
    const std::string line = i < lines.size() ? lines[i] : "";
    if (i < shown_.size() && shown_[i] == line) continue;
    out += fmt::format("\x1b[{};1H{}\x1b[K", i + 1, line);
  }
  shown_ = lines;
  if (!out.empty()) write_all(out);
}

}  // namespace stint
