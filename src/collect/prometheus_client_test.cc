// Against a real Prometheus: its storage is filled with promtool from samples whose means are known by arithmetic.
#include "collect/prometheus_client.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "host/process.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const Instant kStart = *parse_instant("2026-10-01T00:00:00Z");
const Instant kNow = *parse_instant("2026-11-01T09:00:00Z");
constexpr int kDays = 2;
constexpr int kMinutes = kDays * 24 * 60;

uint16_t free_port() {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(bind(s, reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
  getsockname(s, reinterpret_cast<sockaddr*>(&address), &size);
  close(s);
  return ntohs(address.sin_port);
}

/// Utilisation of GPU 0 is the hour of the day times two, of GPU 1 alternates 0 and 100 by the minute.
int utilization(int gpu, int minute) { return gpu == 0 ? (minute / 60) % 24 * 2 : minute % 2 * 100; }
int memory_mib(int gpu, int minute) { return 1000 * (gpu + 1) + minute / 1440; }

void write_open_metrics(const std::string& path) {
  std::ofstream out(path);
  const auto metric = [&](const char* name, int (*value)(int, int)) {
    out << "# TYPE " << name << " gauge\n";
    for (int gpu = 0; gpu < 2; ++gpu)
      for (int minute = 0; minute < kMinutes; ++minute)
        out << fmt::format("{}{{gpu=\"{}\",UUID=\"GPU-{}\",modelName=\"NVIDIA A100-SXM4-80GB\",Hostname=\"n1\"}} {} {}\n", name,
                           gpu, gpu, value(gpu, minute), (kStart + Duration::minutes(minute)).seconds());
  };
  metric("DCGM_FI_DEV_FB_USED", memory_mib);
  metric("DCGM_FI_DEV_GPU_UTIL", utilization);
  out << "# EOF\n";
}

/// A Prometheus on loopback with two GPUs' two days, for all tests of the suite.
class PrometheusServer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!run_command({"promtool", "--version"}, Duration::seconds(30)).ok() ||
        !run_command({"prometheus", "--version"}, Duration::seconds(30)).ok())
      return;
    dir_ = std::make_unique<ScratchDir>();
    write_open_metrics(*dir_ / "metrics.om");
    const auto made = run_command({"promtool", "tsdb", "create-blocks-from", "openmetrics", *dir_ / "metrics.om", *dir_ / "tsdb"},
                                  Duration::seconds(120));
    CHECK(made.ok() && made->status.shell_code() == 0, "promtool: {}", made.ok() ? made->standard_output : made.error().message);
    std::ofstream(*dir_ / "prometheus.yml") << "global: {scrape_interval: 1h}\n";
    const uint16_t port = free_port();
    url_ = fmt::format("http://127.0.0.1:{}", port);
    auto started = ChildProcess::start({"prometheus", "--config.file=" + (*dir_ / "prometheus.yml"),
                                        "--storage.tsdb.path=" + (*dir_ / "tsdb"), "--storage.tsdb.retention.time=10y",
                                        fmt::format("--web.listen-address=127.0.0.1:{}", port), "--log.level=error"});
    CHECK(started.ok(), "{}", started.error().message);
    server_ = std::make_unique<ChildProcess>(std::move(started).value());
    HttpClient client;
    for (int i = 0; i < 300; ++i) {
      const auto ready = client.get(url_ + "/-/ready");
      if (ready.ok() && ready->status == 200) return;
      usleep(100'000);
    }
    CHECK(false, "Prometheus is not ready after 30 s");
  }
  static void TearDownTestSuite() {
    server_.reset();
    dir_.reset();
  }
  void SetUp() override {
    if (!server_) GTEST_SKIP() << "prometheus and promtool are not installed (apt install prometheus)";
  }
  [[nodiscard]] PrometheusImport request(Interval window) const {
    PrometheusImport import;
    import.url = url_ + "/";
    import.window = window;
    import.first_retry_after = Duration::milliseconds(1);
    return import;
  }

  static std::unique_ptr<ScratchDir> dir_;
  static std::unique_ptr<ChildProcess> server_;
  static std::string url_;
};
std::unique_ptr<ScratchDir> PrometheusServer::dir_;
std::unique_ptr<ChildProcess> PrometheusServer::server_;
std::string PrometheusServer::url_;

const Interval kAll = {kStart, kStart + Duration::minutes(kMinutes)};

TEST_F(PrometheusServer, GivesWhatWasPutIn) {
  const ScratchDir dir;
  auto history = HistoryFile::open(dir / "fleet.db", OpenMode::kCreate);
  const auto outcome = import_prometheus(*history, request(kAll), kNow);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->record.accepted, 4U * kMinutes);
  EXPECT_EQ(outcome->record.rejected, 0U);
  EXPECT_EQ(outcome->reach.devices, 2U);
  const auto loaded = history->load();
  ASSERT_THAT(loaded->devices, SizeIs(2));
  EXPECT_EQ(loaded->devices[0].uuid, "GPU-0");
  EXPECT_EQ(loaded->period, kAll);
  const auto usage = history->load_usage(*loaded);
  for (size_t gpu = 0; gpu < 2; ++gpu) {
    const HourlySeries* series = usage->devices[gpu].find(Metric::kUtilization);
    ASSERT_NE(series, nullptr);
    ASSERT_THAT(series->hours, SizeIs(kDays * 24));
    for (int hour = 0; hour < kDays * 24; ++hour) {
      double sum = 0;
      for (int m = 0; m < 60; ++m)
        sum += utilization(static_cast<int>(gpu), hour * 60 + m);
      EXPECT_FLOAT_EQ(series->hours[static_cast<size_t>(hour)].mean, static_cast<float>(sum / 60))
          << "GPU " << gpu << " hour " << hour;
      EXPECT_EQ(series->hours[static_cast<size_t>(hour)].covered_s, 3600);
    }
    const HourlySeries* memory = usage->devices[gpu].find(Metric::kMemoryUsed);
    EXPECT_EQ(memory->max, (1000.0 * static_cast<double>(gpu + 1) + 1) * 1048576);
  }
}

TEST_F(PrometheusServer, OverlappingWindowsCountOnce) {
  const ScratchDir dir;
  auto history = HistoryFile::open(dir / "fleet.db", OpenMode::kCreate);
  ASSERT_TRUE(import_prometheus(*history, request({kStart, kStart + Duration::minutes(20 * 60 + 30)}), kNow).ok());
  ASSERT_TRUE(import_prometheus(*history, request({kStart + Duration::minutes(10 * 60 + 17), kAll.end}), kNow).ok());
  const auto again = import_prometheus(*history, request(kAll), kNow);
  EXPECT_EQ(again->record.accepted, 0U);
  EXPECT_TRUE(import_prometheus(*history, request(kAll), kNow)->already_there);
  const auto loaded = history->load();
  const auto usage = history->load_usage(*loaded);
  for (const DeviceUsage& device : usage->devices)
    EXPECT_EQ(device.find(Metric::kUtilization)->count, uint64_t{kMinutes});
  EXPECT_TRUE(history->check()->empty());
}

TEST_F(PrometheusServer, MorePointsThanOneAnswerMayHoldArePaged) {
  const ScratchDir dir;
  auto history = HistoryFile::open(dir / "fleet.db", OpenMode::kCreate);
  PrometheusImport fine = request(kAll);
  fine.step = Duration::seconds(5);  // 34,560 points a series: more than three answers
  const auto outcome = import_prometheus(*history, fine, kNow);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->record.accepted, 4U * kMinutes * 12);
  const auto loaded = history->load();
  const auto usage = history->load_usage(*loaded);
  EXPECT_FLOAT_EQ(usage->devices[0].find(Metric::kUtilization)->hours[7].mean, 14);
}

TEST_F(PrometheusServer, SaysWhatIsWrong) {
  const ScratchDir dir;
  auto history = HistoryFile::open(dir / "fleet.db", OpenMode::kCreate);
  const auto error_of = [&](const PrometheusImport& import) {
    const auto outcome = import_prometheus(*history, import, kNow);
    return outcome.ok() ? "imported" : outcome.error().message;
  };
  EXPECT_THAT(error_of(request({kStart - kHour * 100, kStart - kHour * 50})), HasSubstr("no GPU metric in this time"));
  EXPECT_THAT(error_of(request({kStart, kStart})), HasSubstr("--since must lie before --until"));
  PrometheusImport elsewhere = request(kAll);
  elsewhere.url = url_ + "/no/such/prefix";
  EXPECT_THAT(error_of(elsewhere), HasSubstr("path prefix"));
  PrometheusImport unanswered = request(kAll);
  unanswered.url = "http://127.0.0.1:1";
  EXPECT_THAT(error_of(unanswered), HasSubstr("check that the server runs"));
  PrometheusImport odd = request(kAll);
  odd.step = Duration::milliseconds(1500);
  EXPECT_THAT(error_of(odd), HasSubstr("whole seconds"));
  EXPECT_EQ(history->info()->imports, 0U) << "nothing is stored of a failed import";
}

}  // namespace
}  // namespace stint
