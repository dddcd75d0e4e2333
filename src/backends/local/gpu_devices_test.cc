#include "backends/local/gpu_devices.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "host/scratch_dir.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three GPUs whose files are counted otherwise than the bus counts them, the second partitioned.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1",
                             "nvidia-caps/nvidia-cap30", "nvidia-caps/nvidia-cap31", "nvidia-caps/nvidia-cap39", "null", "sda"})
      write("dev", name, "");
    tell("0000:01:00.0", "GPU-a", 2);
    tell("0000:02:00.0", "GPU-b", 0);
    tell("0000:03:00.0", "GPU-c", 1);
    write("driver", "capabilities/mig/config", "DeviceFileMinor: 1\n");
    write("driver", "capabilities/gpu0/mig/gi3/access", "DeviceFileMinor: 30\nDeviceFileMode: 256\n");
    write("driver", "capabilities/gpu0/mig/gi3/ci0/access", "DeviceFileMinor: 31\n");
    write("driver", "capabilities/gpu0/mig/gi4/access", "DeviceFileMinor: 39\n");
    folders_ = {.dev = dir_ / "dev", .driver = dir_ / "driver"};
  }
  void write(const std::string& below, const std::string& name, const std::string& text) {
    const fs::path path = fs::path(dir_ / below) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void tell(const std::string& address, const std::string& uuid, int minor) {
    write("driver", fmt::format("gpus/{}/information", address),
          fmt::format("Model: \t\t NVIDIA A100\nGPU UUID: \t {}\nDevice Minor: \t {}\n", uuid, minor));
  }
  const ScratchDir dir_;
  DeviceFolders folders_;
};

TEST_F(Files, AGpuIsFoundByItsUuidElseByItsPlaceOnTheBus) {
  EXPECT_THAT(gpu_files_of({{.index = 0, .uuid = "GPU-c", .mig_uuid = ""}}, {}, folders_),
              ElementsAre("nvidia-uvm", "nvidia1", "nvidiactl"));
  EXPECT_THAT(gpu_files_of({{.index = 0, .uuid = "", .mig_uuid = ""}}, {}, folders_),
              ElementsAre("nvidia-uvm", "nvidia2", "nvidiactl"));
  folders_.driver += "-none";
  EXPECT_THAT(gpu_files_of({{.index = 0, .uuid = "GPU-c", .mig_uuid = ""}}, {}, folders_),
              ElementsAre("nvidia-uvm", "nvidia0", "nvidiactl"));
}

TEST_F(Files, WithoutAGpuThereIsNone) { EXPECT_THAT(gpu_files_of({}, {}, folders_), IsEmpty()); }

TEST_F(Files, AMigDeviceHasItsOwnCapabilitiesAlone) {
  const GrantedGpu part{.index = 1, .uuid = "GPU-b", .mig_uuid = "MIG-x"};
  EXPECT_THAT(gpu_files_of({part}, {3}, folders_),
              ElementsAre("nvidia-caps/nvidia-cap30", "nvidia-caps/nvidia-cap31", "nvidia-uvm", "nvidia0", "nvidiactl"));
  EXPECT_THAT(gpu_files_of({part}, {4}, folders_), ElementsAre("nvidia-caps/nvidia-cap39", "nvidia-uvm", "nvidia0", "nvidiactl"));
  EXPECT_EQ(gpu_files_of({part}, {-1}, folders_).size(), 6U);
}

TEST_F(Files, AllOfThemAreKnown) {
  EXPECT_THAT(all_gpu_files(folders_),
              ElementsAre("nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap30", "nvidia-caps/nvidia-cap31",
                          "nvidia-caps/nvidia-cap39", "nvidia-uvm", "nvidia0", "nvidia1", "nvidia2", "nvidiactl"));
}

/// Runs it in a process of its own. @return its exit code
int in_child(const std::function<int()>& run) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(run());
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ShownDevices, WhatWasNotGrantedIsNotThereAndCannotBeMade) {
  const ScratchDir dir;
  const int code = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return 77;
    // A machine with two GPUs: null under other names.
    if (::mount("dev", "/dev", "tmpfs", 0, nullptr) != 0) return 77;
    for (const char* name : {"/dev/null", "/dev/nvidia0", "/dev/nvidia1", "/dev/kvm", "/dev/sda"})
      if (::mknod(name, S_IFCHR | 0666, makedev(1, 3)) != 0) return 77;
    if (::symlink("/proc/self/fd", "/dev/fd") != 0) return 1;
    if (!show_devices({"nvidia1"}, {"kvm", "not-there"})) return 2;
    for (const char* name : {"/dev/null", "/dev/nvidia1", "/dev/kvm"})
      if (::open(name, O_RDWR) < 0) return 3;
    for (const char* name : {"/dev/nvidia0", "/dev/sda"})
      if (::access(name, F_OK) == 0) return 4;
    if (::access("/dev/fd/0", F_OK) != 0) return 5;
    if (::mknod("/dev/nvidia0", S_IFCHR | 0666, makedev(1, 3)) == 0 || errno != EROFS) return 6;
    return 0;
  });
  if (code == 77) GTEST_SKIP() << "needs CAP_SYS_ADMIN and CAP_MKNOD";
  EXPECT_EQ(code, 0);
}

/// Of a cgroup v2 tree that is ours to write, if there is one.
std::string cgroup_for_test() {
  for (const char* tree : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    const std::string group = fmt::format("{}/stint-test-{}", tree, ::getpid());
    if (fs::exists(std::string(tree) + "/cgroup.procs") && ::mkdir(group.c_str(), 0755) == 0) return group;
  }
  return "";
}

/// Major 195 without a driver: ENXIO where it may be opened, EPERM where it may not.
TEST(DeviceFilter, OpensWhatIsAllowedByWhateverFile) {
  const std::string group = cgroup_for_test();
  if (group.empty() || !try_device_filter().ok()) GTEST_SKIP() << "needs root, a cgroup v2 tree and bpf";
  const ScratchDir dir;
  const Status attached = filter_devices(group, {{195, 0}, {195, 1}, {240, 0}}, {{195, 1}});
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  const int code = in_child([&] {
    std::ofstream(group + "/cgroup.procs") << "0";
    const auto error_of = [&](unsigned major, unsigned minor) {
      const std::string path = dir / fmt::format("device-{}-{}", major, minor);
      if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(major, minor)) != 0) return -errno;
      return ::open(path.c_str(), O_RDONLY) >= 0 ? 0 : errno;
    };
    // Making a file of it is judged like opening it.
    if (error_of(195, 0) != -EPERM) return 1;
    if (error_of(195, 2) != -EPERM) return 2;
    if (error_of(240, 0) != -EPERM) return 3;
    if (error_of(195, 1) != ENXIO && error_of(195, 1) != 0) return 4;
    if (error_of(1, 3) != 0) return 5;
    return 0;
  });
  ::rmdir(group.c_str());
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace stint
