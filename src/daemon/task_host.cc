#include "daemon/task_host.h"

#include <simdjson.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/json_fields.h"
#include "daemon/json_values.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {

std::string to_json(const TaskHost& host) {
  return compact_text(nlohmann::ordered_json{
      {"machine", host.machine}, {"name", host.name}, {"folder", host.folder}, {"folder_id", host.folder_id}});
}

Result<TaskHost> parse_task_host(std::string_view json) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, "task host"));
  JsonFields fields(element, "task host");
  TaskHost host{.machine = fields.text("machine"),
                .name = fields.text("name"),
                .folder = fields.text("folder"),
                .folder_id = fields.text("folder_id")};
  TRY(fields.finish());
  return host;
}

Result<TaskHost> task_host_here(const std::string& state_folder, const std::string& machine) {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  TRY_ASSIGN(const std::string folder_id, own_key(state_folder + "/task-host.id"));
  return TaskHost{.machine = machine.empty() ? std::string(trim(read_kernel_file("/etc/machine-id"))) : machine,
                  .name = machine.empty() ? std::string(name.data()) : machine,
                  .folder = std::filesystem::absolute(state_folder).lexically_normal().string(),
                  .folder_id = folder_id};
}

TaskSight sight_of(const std::optional<TaskHost>& recorded, const TaskHost& here) {
  if (!recorded) return TaskSight::kNotSaid;
  if (recorded->machine != here.machine) return TaskSight::kOtherMachine;
  return recorded->folder_id == here.folder_id ? TaskSight::kOurs : TaskSight::kOtherFolder;
}

}  // namespace stint
