#include "cli/decide/job_trace_file.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "codec/traces/job_trace_reader.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr size_t kLongestHeader = 64 << 10;

std::vector<std::string> notes_of(const TraceCounts& counts) {
  std::vector<std::string> notes;
  const auto note = [&](uint64_t count, std::string_view what) {
    if (count > 0) notes.push_back(fmt::format("{} {}", counted(count, "row"), what));
  };
  note(counts.cpu_only, "without GPUs skipped");
  note(counts.never_ran, "of jobs that never ran, or for no time, skipped");
  note(counts.rejected, "rejected");
  for (const std::string& reason : counts.reasons)
    notes.push_back("rejected: " + reason);
  return notes;
}

/// Reads on until a line is complete.
Result<std::string> read_first_line(InputFile& file) {
  std::string begin;
  while (begin.find('\n') == std::string::npos && begin.size() < kLongestHeader) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    begin += piece;
  }
  return begin;
}

Result<TraceFormat> format_of(const std::string& path, const std::string& named, std::string_view begin) {
  if (!named.empty()) return parse_trace_format(named);
  const std::string_view line = begin.substr(0, begin.find('\n'));
  if (const auto known = detect_trace_format(line)) return *known;
  return invalid(
      "{}:1: '{}' is no header of a job trace: timestamp,duration,num_gpus,cluster, an openb pod list, the DLRM trace, or "
      "`sacct -P`; name the format with --jobs-format",
      path, excerpt(line));
}

}  // namespace

bool is_workload_file(const std::string& path) {
  if (path == "-") return false;
  Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return false;
  const Result<std::string> begin = read_first_line(*file);
  return begin.ok() && begin->starts_with("stint-workload/");
}

Result<JobTraceFile> read_job_trace(const std::string& path, const std::string& format) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  TRY_ASSIGN(const std::string begin, read_first_line(file));
  TRY_ASSIGN(const TraceFormat known, format_of(path, format, begin));
  const std::unique_ptr<JobTraceReader> reader = make_trace_reader(known, path);
  TRY(reader->feed(begin));
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader->feed(piece));
  }
  TRY_ASSIGN(JobTrace trace, reader->finish());
  JobTraceFile read{.trace = std::move(trace), .notes = notes_of(reader->counts())};
  if (read.trace.jobs.empty())
    return invalid("{}: no jobs for GPUs in it{}{}", path, read.notes.empty() ? "" : ": ", fmt::join(read.notes, "; "));
  return read;
}

}  // namespace stint
