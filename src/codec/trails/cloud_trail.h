// Who made, started, stopped or ended a machine, as the clouds' own audit logs say it (docs/formats.md, "Clouds' audit logs").
//
//   cloudtrail      AWS CloudTrail: log files ({"Records": […]}); RunInstances, StartInstances, StopInstances, TerminateInstances
//   gcp-audit       Google Cloud audit logs: LogEntry of compute.instances.*, as `gcloud logging read --format=json` or a sink writes them
//   azure-activity  Azure activity log of virtual machines: `az monitor activity-log list`, or as diagnostic settings export it
//
// Arrays, documents one after another (JSON lines) and pages ("Records", "entries", "value") are read alike.
// Sources: CloudTrail user guide, "record contents" and "userIdentity element"; Google Cloud, LogEntry and AuditLog; Azure Monitor,
// "activity log event schema".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class MachineAct : uint8_t { kMade, kStarted, kStopped, kEnded };
std::string_view name_of(MachineAct act);  // "made", "started", "stopped", "ended"

struct MachineActRecord {
  Instant at;
  std::string machine;  ///< AWS: instance id; Google and Azure: the machine's name
  MachineAct act = MachineAct::kStarted;
  std::string who;     ///< a person, role/session, or service; empty = the log does not say
  std::string from;    ///< network address; empty = not said, or the cloud itself
  std::string by;      ///< the program that asked: its user agent; empty = not said
  std::string failed;  ///< why the cloud did not do it; empty = it did
  bool operator==(const MachineActRecord&) const = default;
};

enum class TrailFormat : uint8_t { kCloudTrail, kGcpAudit, kAzureActivity };

class TrailReader {
 public:
  /// @param source  for messages. @param take  gets each act, in the order of the file.
  TrailReader(TrailFormat format, std::string source, std::function<void(MachineActRecord)> take);
  ~TrailReader();

  /// @return error for what is no JSON, an entry of the kind that cannot be read, naming its number, and a document above kMaxRecordBytes.
  Status feed(std::string_view bytes);
  /// @return error when it ends in the middle of a document, or held no entry of such a log at all.
  Status finish();
  [[nodiscard]] int64_t entries() const { return entries_; }  ///< of all kinds

 private:
  struct Parser;
  Status read();
  Status document(std::string_view json);

  TrailFormat format_;
  std::string source_;
  std::function<void(MachineActRecord)> take_;
  std::unique_ptr<Parser> parser_;
  std::string buffer_;
  size_t worth_trying_ = 0;
  int64_t entries_ = 0;
  int64_t known_ = 0;  // of those, entries of such a log
};

}  // namespace stint
