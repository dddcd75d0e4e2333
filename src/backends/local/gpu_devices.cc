#include "backends/local/gpu_devices.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "backends/system_error.h"
#include "base/text.h"
#include "host/descriptor.h"
#include "host/file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

/// What programs find in /dev on any machine, as far as it is there; no disk, no memory, no terminal of others.
constexpr auto kUsualDevices =
    std::to_array<const char*>({"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue", "hugepages",
                                "fd", "stdin", "stdout", "stderr", "log", "fuse", "infiniband"});
/// What CUDA opens whatever the GPU.
constexpr auto kGpuCommon = std::to_array<std::string_view>({"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"});
constexpr std::string_view kCapabilities = "nvidia-caps";

/// The number of a GPU's file: "nvidia3" → 3.
std::optional<int64_t> gpu_number(std::string_view name) {
  constexpr std::string_view kGpu = "nvidia";
  return name.starts_with(kGpu) ? parse_int(name.substr(kGpu.size())) : std::nullopt;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// The value of `NAME: VALUE` in a file of the driver's.
std::string told_of(const std::string& path, std::string_view name) {
  const std::string text = read_kernel_file(path);
  for (const std::string_view line : split(text, '\n'))
    if (const size_t colon = line.find(':'); colon != std::string_view::npos && trim(line.substr(0, colon)) == name)
      return std::string(trim(line.substr(colon + 1)));
  return "";
}

struct ToldGpu {
  std::string uuid;
  int64_t minor = 0;
};
/// By address on the bus, as NVML counts them.
std::vector<ToldGpu> told_gpus(const DeviceFolders& folders) {
  std::vector<ToldGpu> told;
  for (const std::string& address : names_in(folders.driver + "/gpus")) {
    const std::string path = fmt::format("{}/gpus/{}/information", folders.driver, address);
    if (const auto minor = parse_int(told_of(path, "Device Minor"))) told.push_back({told_of(path, "GPU UUID"), *minor});
  }
  return told;
}

int64_t minor_of(const GrantedGpu& gpu, const std::vector<ToldGpu>& told) {
  for (const ToldGpu& one : told)
    if (!gpu.uuid.empty() && one.uuid == gpu.uuid) return one.minor;
  const auto index = static_cast<size_t>(gpu.index);
  return index < told.size() ? told[index].minor : gpu.index;
}

/// Of the capability files below a folder of the driver's, such as …/gpu0/mig/gi3.
void add_capabilities(const std::string& folder, std::set<std::string>& files) {
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (it->path().filename() == "access")
      if (const auto minor = parse_int(told_of(it->path().string(), "DeviceFileMinor")))
        files.insert(fmt::format("{}/nvidia-cap{}", kCapabilities, *minor));
}

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// What is to be shown again once /dev is another, held open meanwhile.
struct HeldDevice {
  std::string name;
  std::string link;  ///< where it leads, of a link
  bool folder = false;
  Descriptor at;
};

std::optional<HeldDevice> hold(const std::string& name) {
  const std::string path = "/dev/" + name;
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  HeldDevice held{.name = name, .link = "", .folder = S_ISDIR(status.st_mode), .at = Descriptor()};
  if (S_ISLNK(status.st_mode)) {
    std::array<char, 256> to = {};
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size <= 0) return std::nullopt;
    held.link.assign(to.data(), static_cast<size_t>(size));
    return held;
  }
  held.at = Descriptor(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return held.at.valid() ? std::optional(std::move(held)) : std::nullopt;
}

bool show(const HeldDevice& held) {
  const std::string path = "/dev/" + held.name;
  if (const size_t slash = held.name.rfind('/'); slash != std::string::npos)
    if (::mkdir(("/dev/" + held.name.substr(0, slash)).c_str(), 0755) != 0 && errno != EEXIST) return false;
  if (!held.link.empty()) return ::symlink(held.link.c_str(), path.c_str()) == 0;
  if (held.folder) {
    if (::mkdir(path.c_str(), 0755) != 0) return false;
  } else if (!Descriptor(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)).valid()) {
    return false;
  }
  const std::string from = fmt::format("/proc/self/fd/{}", held.at.get());
  return ::mount(from.c_str(), path.c_str(), nullptr, MS_BIND | (held.folder ? MS_REC : 0), nullptr) == 0;
}

// ── The filter: a program of the kernel's machine that judges each opening ──

int bpf_call(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

/// Register kTo = 32 bits at `offset` of what register 1 points to.
template <uint8_t kTo>
bpf_insn load_word(int16_t offset) {
  return {.code = BPF_LDX | BPF_W | BPF_MEM, .dst_reg = kTo, .src_reg = 1, .off = offset, .imm = 0};
}
template <uint8_t kRegister>
bpf_insn jump_unless(uint32_t value, int16_t over) {
  return {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = kRegister, .src_reg = 0, .off = over, .imm = static_cast<int32_t>(value)};
}
bpf_insn jump(int16_t over) { return {.code = BPF_JMP | BPF_JA, .dst_reg = 0, .src_reg = 0, .off = over, .imm = 0}; }
/// 1: it may be opened.
std::array<bpf_insn, 2> answer_with(int32_t verdict) {
  return {bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = verdict},
          bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
}

/// struct bpf_cgroup_dev_ctx: access and type, major, minor. A device that is guarded falls through to the list of those allowed.
std::vector<bpf_insn> filter_program(const std::vector<DeviceNumber>& guarded, const std::vector<DeviceNumber>& allowed) {
  constexpr uint8_t kMajor = 2, kMinor = 3;
  std::vector<bpf_insn> program = {load_word<kMajor>(4), load_word<kMinor>(8)};
  const auto add = [&program](const auto& instructions) {
    program.insert(program.end(), instructions.begin(), instructions.end());
  };
  std::set<uint32_t> majors;
  for (const DeviceNumber& device : guarded)
    majors.insert(device.major);
  // Each: if it is this major, on to the list, which begins behind the others and the two instructions that allow.
  auto left = static_cast<int16_t>(majors.size());
  for (const uint32_t major : majors) {
    --left;
    program.push_back(jump_unless<kMajor>(major, 1));
    program.push_back(jump(static_cast<int16_t>(left * 2 + 2)));
  }
  add(answer_with(1));
  for (const DeviceNumber& device : allowed) {
    program.push_back(jump_unless<kMajor>(device.major, 3));
    program.push_back(jump_unless<kMinor>(device.minor, 2));
    add(answer_with(1));
  }
  add(answer_with(0));
  return program;
}

Result<Descriptor> load_filter(const std::vector<bpf_insn>& program) {
  static constexpr std::string_view kLicense = "Apache-2.0";
  bpf_attr attributes = {};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insns = reinterpret_cast<uintptr_t>(program.data());
  attributes.insn_cnt = static_cast<uint32_t>(program.size());
  attributes.license = reinterpret_cast<uintptr_t>(kLicense.data());
  Descriptor loaded(bpf_call(BPF_PROG_LOAD, attributes));
  if (!loaded.valid()) return system_error("device filter", "is not taken by the kernel (bpf)");
  return loaded;
}

}  // namespace

std::vector<std::string> all_gpu_files(const DeviceFolders& folders) {
  std::vector<std::string> files;
  for (const std::string& name : names_in(folders.dev))
    if (gpu_number(name) || std::ranges::find(kGpuCommon, name) != kGpuCommon.end()) files.push_back(name);
  for (const std::string& name : names_in(fmt::format("{}/{}", folders.dev, kCapabilities)))
    files.push_back(fmt::format("{}/{}", kCapabilities, name));
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> gpu_files_of(const std::vector<GrantedGpu>& gpus, const std::vector<int>& mig_instances,
                                      const DeviceFolders& folders) {
  if (gpus.empty()) return {};
  std::set<std::string> files(kGpuCommon.begin(), kGpuCommon.end());
  const std::vector<ToldGpu> told = told_gpus(folders);
  auto instance = mig_instances.begin();
  for (const GrantedGpu& gpu : gpus) {
    const int64_t minor = minor_of(gpu, told);
    files.insert(fmt::format("nvidia{}", minor));
    if (gpu.mig_uuid.empty()) continue;
    const std::string mig = fmt::format("{}/capabilities/gpu{}/mig", folders.driver, minor);
    const int number = instance != mig_instances.end() ? *instance++ : -1;
    add_capabilities(number < 0 ? mig : fmt::format("{}/gi{}", mig, number), files);
  }
  std::erase_if(files, [&](const std::string& file) { return !is_there(folders.dev + "/" + file); });
  return {files.begin(), files.end()};
}

bool show_devices(const std::vector<std::string>& gpu_files, const std::vector<std::string>& more) {
  std::vector<HeldDevice> held;
  const auto add = [&held](const std::string& name) {
    if (auto device = hold(name)) held.push_back(std::move(*device));
  };
  for (const char* name : kUsualDevices)
    add(name);
  for (const std::vector<std::string>* names : {&gpu_files, &more})
    for (const std::string& name : *names)
      add(name);
  constexpr unsigned long kFlags = MS_NOSUID | MS_NOEXEC;
  if (::mount("stint-dev", "/dev", "tmpfs", kFlags, "mode=755,size=256k,nr_inodes=1k") != 0) return false;
  for (const HeldDevice& device : held)
    if (!show(device)) return false;
  // A program with root's rights (nvidia-modprobe is one) would make the missing files at anybody's request.
  return ::mount(nullptr, "/dev", nullptr, MS_REMOUNT | MS_RDONLY | kFlags, nullptr) == 0;
}

std::vector<DeviceNumber> device_numbers(const std::vector<std::string>& files, const DeviceFolders& folders) {
  std::vector<DeviceNumber> numbers;
  for (const std::string& file : files) {
    struct stat status = {};
    if (::stat((folders.dev + "/" + file).c_str(), &status) == 0 && S_ISCHR(status.st_mode))
      numbers.push_back({gnu_dev_major(status.st_rdev), gnu_dev_minor(status.st_rdev)});
  }
  return numbers;
}

Status filter_devices(const std::string& cgroup, const std::vector<DeviceNumber>& guarded,
                      const std::vector<DeviceNumber>& allowed) {
  if (guarded.empty()) return {};
  TRY_ASSIGN(const Descriptor filter, load_filter(filter_program(guarded, allowed)));
  const Descriptor group(::open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group.valid()) return system_error(cgroup, "cannot be opened");
  bpf_attr attributes = {};
  attributes.target_fd = static_cast<uint32_t>(group.get());
  attributes.attach_bpf_fd = static_cast<uint32_t>(filter.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf_call(BPF_PROG_ATTACH, attributes) != 0) return system_error(cgroup, "takes no device filter");
  return {};
}

Status try_device_filter() {
  const DeviceNumber any{195, 0};
  return load_filter(filter_program({any}, {any})).ok() ? Status()
                                                        : system_error("device filter", "is not taken by the kernel (bpf)");
}

}  // namespace stint
