#include "collect/parquet.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/quoting.h"
#include "base/text.h"
#include "host/descriptor.h"

namespace stint {
namespace {

// Part of DuckDB's C interface (duckdb.h), which is kept compatible.
struct DuckResult {
  uint64_t column_count, row_count, rows_changed;
  void* columns;
  char* error_message;
  void* internal_data;
};

struct DuckDb {
  int (*create_config)(void**) = nullptr;
  int (*set_config)(void*, const char*, const char*) = nullptr;
  int (*open_ext)(const char*, void**, void*, char**) = nullptr;
  int (*connect)(void*, void**) = nullptr;
  int (*query)(void*, const char*, DuckResult*) = nullptr;
  const char* (*result_error)(DuckResult*) = nullptr;
  char* (*value_varchar)(DuckResult*, uint64_t column, uint64_t row) = nullptr;
  uint64_t (*row_count)(DuckResult*) = nullptr;
};

std::string library_name() {
  const char* named = std::getenv("STINT_DUCKDB");
  return named != nullptr && *named != '\0' ? named : "libduckdb.so";
}

Result<DuckDb> load_duckdb() {
  void* const library = ::dlopen(library_name().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return make_error(
        ErrorCode::kUnavailable,
        "Parquet is read by DuckDB's shared library, which is not there ({}): fetch it with scripts/setup-duckdb, or from "
        "duckdb.org (libduckdb, 1.0 or later), and name it in STINT_DUCKDB; or export the bill as gzip CSV",
        ::dlerror());
  DuckDb db;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  if (find(db.create_config, "duckdb_create_config") && find(db.set_config, "duckdb_set_config") &&
      find(db.open_ext, "duckdb_open_ext") && find(db.connect, "duckdb_connect") && find(db.query, "duckdb_query") &&
      find(db.result_error, "duckdb_result_error") && find(db.value_varchar, "duckdb_value_varchar") &&
      find(db.row_count, "duckdb_row_count"))
    return db;
  return make_error(ErrorCode::kUnavailable, "{}: is no DuckDB library of version 1.0 or later", library_name());
}

/// How a column becomes text that importers read.
std::string as_text(const std::string& name, std::string_view type) {
  const std::string column = sql_name(name);
  std::string value = column;
  if (type.starts_with("TIMESTAMP"))
    value = fmt::format("strftime(make_timestamp(epoch_us({})), '%Y-%m-%dT%H:%M:%SZ')", column);
  else if (type.starts_with("MAP") || type.starts_with("STRUCT") || type.ends_with("]"))
    value = fmt::format("to_json({})", column);
  return fmt::format("CAST({} AS VARCHAR) AS {}", value, column);
}

class DuckReader {
 public:
  static Status copy_to_stdout(const std::string& path) {
    DuckReader reader;
    TRY_ASSIGN(reader.db_, load_duckdb());
    return reader.copy(path);
  }

 private:
  Status copy(const std::string& path) {
    // Not by its name, which may hold * or ?: the library would look for files.
    const int file = ::open(path.c_str(), O_RDONLY);
    if (file < 0) return make_error(ErrorCode::kNotFound, "cannot be read: {}", std::strerror(errno));
    const std::string source = fmt::format("read_parquet('/proc/self/fd/{}', binary_as_string = true)", file);
    void* config = nullptr;
    if (db_.create_config(&config) != 0) return invalid("DuckDB gives no configuration");
    constexpr std::array<std::pair<const char*, const char*>, 6> kSettings = {{{"memory_limit", "1GB"},
                                                                               {"threads", "1"},
                                                                               {"temp_directory", ""},
                                                                               {"autoinstall_known_extensions", "false"},
                                                                               {"autoload_known_extensions", "false"},
                                                                               {"allow_community_extensions", "false"}}};
    for (const auto& [name, value] : kSettings)
      (void)db_.set_config(config, name, value);
    void* database = nullptr;
    char* error = nullptr;
    if (db_.open_ext(nullptr, &database, config, &error) != 0)
      return invalid("DuckDB does not start: {}", error == nullptr ? "" : error);
    if (db_.connect(database, &connection_) != 0) return invalid("DuckDB does not connect");
    DuckResult columns = {};
    TRY(run("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM " + source + ")", columns));
    std::string wanted;
    for (uint64_t i = 0; i < db_.row_count(&columns); ++i)
      wanted += (wanted.empty() ? "" : ", ") + as_text(db_.value_varchar(&columns, 0, i), db_.value_varchar(&columns, 1, i));
    DuckResult copied = {};
    return run(fmt::format("COPY (SELECT {} FROM {}) TO '/dev/stdout' (FORMAT csv, HEADER, USE_TMP_FILE false)", wanted, source),
               copied);
  }

  Status run(const std::string& sql, DuckResult& result) {
    if (db_.query(connection_, sql.c_str(), &result) == 0) return {};
    const char* error = db_.result_error(&result);
    return invalid("{}", error == nullptr ? "no reason given" : error);
  }

  DuckDb db_;
  void* connection_ = nullptr;
};

[[noreturn]] void be_the_reader(const std::string& path, int out, int said) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(said, STDERR_FILENO);
  const Status done = DuckReader::copy_to_stdout(path);
  if (!done.ok()) {
    const std::string& message = done.error().message;
    (void)!::write(STDERR_FILENO, message.data(), message.size());
  }
  _exit(done.ok() ? 0 : 1);  // no destructors and no buffers of the parent's
}

struct Pipe {
  Descriptor from, to;
};
Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return make_error(ErrorCode::kInternal, "no pipe: {}", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Passes on what the reader writes until it ends. @return error of `use`.
Status pass_output(int out, int said, std::string& message, const std::function<Status(std::string_view)>& use) {
  std::vector<char> piece(size_t{1} << 20);
  std::array<pollfd, 2> from = {{{out, POLLIN, 0}, {said, POLLIN, 0}}};
  while (from[0].fd >= 0 || from[1].fd >= 0) {
    if (::poll(from.data(), from.size(), -1) < 0 && errno != EINTR)
      return make_error(ErrorCode::kInternal, "poll: {}", std::strerror(errno));
    for (pollfd& one : from) {
      if (one.fd < 0 || one.revents == 0) continue;
      const ssize_t n = ::read(one.fd, piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        one.fd = -1;
      } else if (one.fd == out) {
        TRY(use({piece.data(), static_cast<size_t>(n)}));
      } else if (message.size() < 4096) {
        message.append(piece.data(), std::min<size_t>(static_cast<size_t>(n), 4096));
      }
    }
  }
  return {};
}

}  // namespace

bool is_parquet_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char first[4];
  return file.valid() && ::read(file.get(), first, sizeof first) == 4 && std::memcmp(first, "PAR1", 4) == 0;
}

Status find_duckdb() {
  const auto db = load_duckdb();
  return db.ok() ? Status() : Status(db.error());
}

Status read_parquet(const std::string& path, const std::function<Status(std::string_view)>& use) {
  TRY_ASSIGN(Pipe out, make_pipe());
  TRY_ASSIGN(Pipe said, make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return make_error(ErrorCode::kInternal, "{}: no process to read it: {}", path, std::strerror(errno));
  if (pid == 0) be_the_reader(path, out.to.get(), said.to.get());
  (void)out.to.close();
  (void)said.to.close();
  std::string message;
  const Status passed = pass_output(out.from.get(), said.from.get(), message, use);
  // Its output is wanted no more, or has ended: a reader that goes on gets an error from its pipe.
  (void)out.from.close();
  (void)said.from.close();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  TRY(passed);
  if (WIFSIGNALED(status))
    return invalid("{}: the Parquet file is damaged (its reader ended with signal {}): fetch it again", path, WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) {
    const std::string reason = excerpt(trim(message), 600);
    if (contains_ignoring_case(reason, "DuckDB")) return make_error(ErrorCode::kUnavailable, "{}: {}", path, reason);
    return invalid("{}: cannot be read as Parquet: {}", path, reason.empty() ? "no reason given" : reason);
  }
  return {};
}

}  // namespace stint
