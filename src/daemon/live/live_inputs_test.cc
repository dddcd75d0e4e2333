// The sources of live telemetry: each against the real thing's stand-in.
#include "daemon/live/live_inputs.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <mutex>

#include "backends/local/local_backend.h"
#include "backends/local/task_owner.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/http_server.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const Instant kStart = Instant::from_seconds(1'800'000'000);

/// A server whose answer is set by the test.
class Answering {
 public:
  Answering() {
    auto server = HttpServer::start({}, [this](HttpRequest request, Responder responder) {
      const std::lock_guard lock(mutex_);
      asked_ = request.target + " " + request.body;
      responder.reply(reply_);
    });
    CHECK(server.ok(), "{}", server.error().message);
    server_.emplace(std::move(*server));
  }
  void answer(int status, std::string body) {
    const std::lock_guard lock(mutex_);
    reply_ = {status, "text/plain", {}, std::move(body)};
  }
  std::string asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  [[nodiscard]] std::string url() const { return server_->url(); }

 private:
  std::mutex mutex_;
  HttpReply reply_;
  std::string asked_;
  std::optional<HttpServer> server_;
};

ScrapeTarget target_at(const std::string& url) {
  return {.url = url, .every = Duration::seconds(15), .timeout = Duration::seconds(5)};
}

TEST(LiveInputs, AnExporterIsReadAndItsMachineIsCalledAsConfigured) {
  Answering exporter;
  exporter.answer(200,
                  "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                  "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-1\",modelName=\"NVIDIA L4\",Hostname=\"gpu-0.rack.example\"} 37\n"
                  "DCGM_FI_DEV_FB_USED{gpu=\"1\",UUID=\"GPU-1\",modelName=\"NVIDIA L4\",Hostname=\"gpu-0.rack.example\"} 1024\n"
                  "DCGM_FI_DEV_GPU_TEMP{UUID=\"\",Hostname=\"gpu-0\"} 50\n"
                  "unknown_metric 3\n");
  LiveTelemetry live;
  const LiveTarget target{live, nullptr, {"gpu-0", "gpu-1"}};
  ScrapeInput input(target, LiveSourceKind::kExporter, target_at(exporter.url() + "/metrics"));
  EXPECT_EQ(input.look(kStart), Duration::seconds(15));
  LiveSnapshot seen = live.snapshot();
  ASSERT_THAT(seen.gpus, SizeIs(1));
  EXPECT_EQ(id_of(seen.gpus[0].device), "gpu-0:1");
  EXPECT_EQ(seen.gpus[0].value(Metric::kUtilization), 37);
  EXPECT_EQ(seen.gpus[0].value(Metric::kMemoryUsed), 1024.0 * 1048576);
  EXPECT_FALSE(seen.gpus[0].simulated);
  EXPECT_EQ(seen.sources[0].samples, 2u);
  EXPECT_EQ(seen.sources[0].refused, 1u) << "it does not say which GPU's temperature that is";
  EXPECT_TRUE(seen.sources[0].ok());

  exporter.answer(503, "starting up");
  EXPECT_EQ(input.look(kStart + Duration::seconds(15)), Duration::seconds(15));
  EXPECT_EQ(input.look(kStart + Duration::seconds(30)), Duration::seconds(30)) << "less and less often";
  seen = live.snapshot();
  EXPECT_FALSE(seen.sources[0].ok());
  EXPECT_THAT(seen.sources[0].error, HasSubstr("HTTP 503: starting up"));
  EXPECT_EQ(seen.sources[0].succeeded, kStart);
  EXPECT_EQ(seen.gpus[0].seen, kStart) << "how old the news is, is told";
}

TEST(LiveInputs, AServersLatencyIsItsServices) {
  Answering exporter;
  exporter.answer(200, "stint_latency_p99{service=\"chat\",version=\"1\"} 40\n");
  LiveTelemetry live;
  const LiveTarget target{live, nullptr, {"gpu-0"}};
  ScrapeInput input(target, LiveSourceKind::kExporter, target_at(exporter.url() + "/metrics"));
  input.look(kStart);
  exporter.answer(200, "stint_latency_p99{service=\"chat\",version=\"1\"} 50\n");
  input.look(kStart + Duration::seconds(15));
  EXPECT_THAT(live.service_minutes_since(kStart, kStart + Duration::seconds(30)), SizeIs(0)) << "the minute is not over";
  const auto minutes = live.service_minutes_since(kStart, kStart + Duration::minutes(1));
  ASSERT_THAT(minutes, SizeIs(1));
  EXPECT_EQ(minutes[0].service, "chat");
  EXPECT_EQ(minutes[0].mean, 45);
  EXPECT_EQ(live.snapshot().sources[0].samples, 2U);
  EXPECT_EQ(live.snapshot().sources[0].refused, 0U);
}

TEST(LiveInputs, AnAddressWithoutAServerIsAnErrorOfTheSource) {
  LiveTelemetry live;
  const LiveTarget target{live, nullptr, {}};
  ScrapeInput input(target, LiveSourceKind::kExporter, target_at("http://127.0.0.1:1/metrics"));
  (void)input.look(kStart);
  EXPECT_FALSE(live.snapshot().sources[0].ok());
  EXPECT_THAT(live.snapshot().sources[0].error, HasSubstr("127.0.0.1:1"));
}

TEST(LiveInputs, APrometheusServerIsAskedForTheNewestOfAll) {
  Answering server;
  server.answer(200, R"({"status":"success","data":{"resultType":"vector","result":[
    {"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","UUID":"GPU-7","Hostname":"n7"},"value":[1800000000,"64"]},
    {"metric":{"__name__":"instance:node_cpu_utilisation:rate5m","instance":"n7:9100"},"value":[1800000000,"0.5"]}]}})");
  LiveTelemetry live;
  const LiveTarget target{live, nullptr, {}};
  ScrapeInput input(target, LiveSourceKind::kPrometheus, target_at(server.url() + "/prometheus/"));
  (void)input.look(kStart);
  const LiveSnapshot seen = live.snapshot();
  EXPECT_TRUE(seen.sources[0].ok()) << seen.sources[0].error;
  EXPECT_THAT(server.asked(), HasSubstr("/prometheus/api/v1/query query="));
  ASSERT_THAT(seen.gpus, SizeIs(1));
  EXPECT_EQ(seen.gpus[0].value(Metric::kUtilization), 64);
  ASSERT_THAT(seen.nodes, SizeIs(1));
  EXPECT_EQ(seen.nodes[0].latest[static_cast<size_t>(Metric::kHostCpu)]->value, 50);
}

TEST(LiveInputs, SimulatedGpusShowWhatTheirJobsHoldAndSayThatTheyAreSimulated) {
  LiveTelemetry live;
  NodeView node;
  node.name = "n0";
  node.gpus = 3;
  node.gpu_memory = Bytes::gibi(int64_t{80});
  JobView whole, half;
  whole.id = 1;
  whole.placed = {{.node = "n0", .gpus = {0}}};
  half.id = 2;
  half.placed = {{.node = "n0", .gpus = {1}, .gpu_milli = 500}};
  live.put_work({.nodes = {node}, .running = {whole, half}});
  const LiveTarget target{live, nullptr, {"n0"}};
  SimulatedInput input(target);
  (void)input.look(kStart);
  const LiveSnapshot seen = live.snapshot();
  EXPECT_GE(seen.gpus[0].value(Metric::kUtilization), 57);
  EXPECT_GE(seen.gpus[1].value(Metric::kUtilization), 28);
  EXPECT_LE(seen.gpus[1].value(Metric::kUtilization), 50);
  EXPECT_EQ(seen.gpus[2].value(Metric::kUtilization), 0);
  EXPECT_EQ(seen.gpus[2].value(Metric::kMemoryTotal), 80.0 * (1 << 30));
  for (const LiveGpu& gpu : seen.gpus)
    EXPECT_TRUE(gpu.simulated);
}

/// The stand-in library, a task that really runs, and the file that says which processes compute.
class LocalGpus : public ::testing::Test {
 protected:
  LocalGpus() {
    setenv("FAKE_NVML_PIDS", (dir_ / "pids").c_str(), 1);
    auto made = LocalBackend::create({.state_folder = dir_ / "work", .keeper = {STINT_TEST_KEEPER}, .clear = {"none.so"}});
    CHECK(made.ok(), "{}", made.error().message);
    backend_ = std::move(made).value();
    config_.nvml_library = STINT_FAKE_NVML;
  }
  ~LocalGpus() override {
    unsetenv("FAKE_NVML_PIDS");
    unsetenv("FAKE_NVML_FAIL");
    for (const LaunchKey& key : backend_->running())
      (void)backend_->stop(key, Duration(), now());
    for (int i = 0; i < 400 && !backend_->running().empty(); ++i) {
      usleep(5000);
      backend_->poll(now());
    }
  }
  void computing(const std::string& lines) const { std::ofstream(dir_ / "pids") << lines; }

  ScratchDir dir_;
  std::unique_ptr<LocalBackend> backend_;
  LiveConfig config_;
  LiveTelemetry live_;
  LiveTarget target_{live_, nullptr, {"n0"}};
};

TEST_F(LocalGpus, AProcessIsItsJobsAndOneOfNoJobIsForeign) {
  Launch launch;
  launch.key = {.job = 12, .attempt = 1, .task = 0};
  launch.folder = dir_ / "";
  launch.command = {"sh", "-c", "sleep 60 & echo $! > pid; wait"};
  ASSERT_TRUE(backend_->start(launch, now()).ok());
  std::string pid;
  for (int i = 0; i < 2000 && !pid.ends_with('\n'); ++i) {
    const auto text = read_all(dir_ / "pid");
    pid = text.ok() ? *text : "";
    usleep(5000);
  }
  ASSERT_TRUE(pid.ends_with('\n'));
  for (int i = 0; i < 2000 && program_of(*parse_int(trim(pid))) != "sleep"; ++i)
    usleep(5000);  // it is a shell first
  auto stranger = ChildProcess::start({"sleep", "60"});
  ASSERT_TRUE(stranger.ok());
  computing(fmt::format("{}\n{}\n", trim(pid), stranger->pid()));
  LocalGpuInput input(target_, config_, "n0", look_at_tasks(dir_ / "work", ""));
  EXPECT_EQ(input.look(kStart), Duration::seconds(1));
  const LiveSnapshot seen = live_.snapshot();
  ASSERT_THAT(seen.gpus, SizeIs(2));
  EXPECT_EQ(seen.gpus[0].value(Metric::kUtilization), 40);
  EXPECT_EQ(seen.gpus[0].value(Metric::kEccDoubleBit), 2);
  EXPECT_EQ(seen.gpus[0].value(Metric::kThrottleReasons), 4);
  ASSERT_THAT(seen.gpus[0].processes, SizeIs(1));
  EXPECT_EQ(seen.gpus[0].processes[0].job, 12);
  EXPECT_EQ(seen.gpus[0].processes[0].attempt, 1);
  EXPECT_EQ(seen.gpus[0].processes[0].command, "sleep");
  EXPECT_EQ(seen.gpus[0].processes[0].memory_used, Bytes::gibi(int64_t{3}));
  ASSERT_THAT(seen.gpus[1].processes, SizeIs(1));
  EXPECT_EQ(seen.gpus[1].processes[0].job, 0) << "foreign";
  EXPECT_EQ(seen.gpus[1].processes[0].pid, stranger->pid());
  const passwd* own = getpwuid(geteuid());
  EXPECT_EQ(seen.gpus[1].processes[0].account, own != nullptr ? own->pw_name : fmt::format("uid {}", geteuid()));
}

TEST_F(LocalGpus, PartsOfPartitionedGpusAreListedWithWhoIsOnThem) {
  setenv("FAKE_NVML_MIG", "2", 1);
  computing(fmt::format("{} 1\n", getpid()));
  LocalGpuInput input(target_, config_, "n0", look_at_tasks(dir_ / "work", ""));
  (void)input.look(kStart);
  unsetenv("FAKE_NVML_MIG");
  const LiveSnapshot seen = live_.snapshot();
  ASSERT_THAT(seen.gpus, SizeIs(4));
  EXPECT_EQ(id_of(seen.gpus[2].device), "n0:0:3");
  EXPECT_EQ(seen.gpus[2].device.mig_profile, "2g.20gb");
  EXPECT_EQ(seen.gpus[2].value(Metric::kMemoryUsed), 2.0 * (1 << 30));
  EXPECT_EQ(seen.gpus[2].value(Metric::kUtilization), std::nullopt) << "NVML does not tell it of parts";
  ASSERT_THAT(seen.gpus[2].processes, SizeIs(1));
  EXPECT_EQ(seen.gpus[2].processes[0].pid, getpid());
  ASSERT_THAT(seen.gpus[3].processes, SizeIs(1));
  EXPECT_EQ(seen.gpus[3].processes[0].pid, 1);
}

TEST_F(LocalGpus, GpusThatAreLostAndALibraryThatIsNotThereAreShownWithTheirErrors) {
  computing("");
  LocalGpuInput input(target_, config_, "n0", look_at_tasks(dir_ / "work", ""));
  (void)input.look(kStart);
  setenv("FAKE_NVML_FAIL", "lost", 1);
  (void)input.look(kStart + Duration::seconds(1));
  LiveSnapshot seen = live_.snapshot();
  EXPECT_FALSE(seen.sources[0].ok());
  EXPECT_THAT(seen.sources[0].error, HasSubstr("fell off the bus"));
  EXPECT_EQ(seen.sources[0].succeeded, kStart);
  unsetenv("FAKE_NVML_FAIL");
  (void)input.look(kStart + Duration::seconds(2));
  EXPECT_TRUE(live_.snapshot().sources[0].ok());

  LiveConfig none;
  none.nvml_library = "libno-such-thing.so";
  LocalGpuInput absent(target_, none, "n0", look_at_tasks(dir_ / "work", ""));
  EXPECT_EQ(absent.look(kStart), Duration::seconds(60));
  EXPECT_THAT(live_.snapshot().sources[1].error, HasSubstr("install the NVIDIA driver"));
}

}  // namespace
}  // namespace stint
