// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace stint {

/// Standard input is not closed: who opens "-" does not own it.
class Descriptor {
 public:
  Descriptor() = default;  // none
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// @return 0, or −1 with errno.
  int close() {
    const int fd = std::exchange(fd_, -1);
    return fd > STDIN_FILENO ? ::close(fd) : 0;
  }

 private:
  int fd_ = -1;
};

}  // namespace stint
