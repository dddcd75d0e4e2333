// A PostgreSQL server of a test's own: in a folder that goes with it, reached through a socket in that folder alone.
#pragma once

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "host/scratch_dir.h"
#include "store/event_log.h"

namespace stint {

class TestingPostgres {
 public:
  /// Folder of the server's programs; empty = it is not installed.
  static std::string programs() {
    for (const char* folder : {"/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin"})
      if (std::filesystem::exists(std::string(folder) + "/initdb")) return folder;
    return {};
  }

  TestingPostgres() {
    // The server refuses to run as root.
    if (geteuid() == 0) {
      const passwd* nobody = getpwnam("nobody");
      CHECK(nobody != nullptr && chown((dir_ / "").c_str(), nobody->pw_uid, nobody->pw_gid) == 0, "no user nobody");
      user_ = nobody->pw_uid;
      group_ = nobody->pw_gid;
    }
    const pid_t made = run({programs() + "/initdb", "-D", dir_ / "data", "-U", "stint", "-A", "trust", "--no-sync"});
    int status = 0;
    CHECK(waitpid(made, &status, 0) == made && status == 0, "initdb failed");
    start();
  }
  TestingPostgres(const TestingPostgres&) = delete;
  TestingPostgres& operator=(const TestingPostgres&) = delete;
  ~TestingPostgres() { stop(); }

  void start() {
    server_ = run({programs() + "/postgres", "-D", dir_ / "data", "-k", dir_ / "", "-c", "listen_addresses=", "-c", "fsync=off"});
    for (int i = 0; i < 600; ++i) {
      if (EventLog::open(url(), {.follow = true}).ok()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(false, "the server does not answer");
  }
  /// As in a crash: whoever is connected is cut off.
  void stop() {
    if (server_ <= 0) return;
    ::kill(server_, SIGQUIT);
    waitpid(server_, nullptr, 0);
    server_ = 0;
  }
  void execute(const std::string& sql) const {
    int status = 0;
    const pid_t client = run({programs() + "/psql", "-v", "ON_ERROR_STOP=1", "-c", sql, url()});
    CHECK(waitpid(client, &status, 0) == client && status == 0, "{}", sql);
  }
  [[nodiscard]] std::string url() const { return "postgresql:///postgres?user=stint&host=" + (dir_ / ""); }

 private:
  pid_t run(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    for (const std::string& word : words)
      arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = dir_ / "log";
    const pid_t child = fork();
    if (child != 0) return child;
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    dup2(out, 1);
    dup2(out, 2);
    if (user_ != 0 && (setgid(group_) != 0 || setuid(user_) != 0)) _exit(126);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  ScratchDir dir_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t server_ = 0;
};

}  // namespace stint
