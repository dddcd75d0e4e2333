// The privileged starter as its client sees it, and as somebody sees it who has taken its client over.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/starter/starter_backend.h"
#include "backends/starter/starter_server.h"
#include "host/clock.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

constexpr int64_t kNumberOfTheFirstJob = 7;

Launch whole_launch() {
  Launch launch;
  launch.key = {.job = kNumberOfTheFirstJob, .attempt = 1, .task = 2};
  launch.node = "here";
  launch.gpus = {{.index = 3, .uuid = "GPU-1", .mig_uuid = ""}, {.index = -1, .uuid = "", .mig_uuid = "1g.10gb"}};
  launch.gpu_milli = 250;
  launch.tenancy = Tenancy::kShared;
  launch.cpu_milli = 1500;
  launch.memory = Bytes::mebi(64);
  launch.memory_share = Bytes::mebi(128);
  launch.command = {"train.sh", "--fast"};
  launch.script = "#!/bin/sh\nexit 3\n";
  launch.environment = {{"A", "b"}};
  launch.folder = "/srv";
  launch.output_path = "/srv/out";
  launch.error_path = "/srv/err";
  launch.owner = "acme/ann";
  launch.gang = GangPlace{
      .rank = 1, .world_size = 2, .local_rank = 0, .local_world_size = 1, .master_address = "here", .master_port = 29500};
  launch.time_limit = Duration::hours(2);
  launch.grace = Duration::seconds(5);
  return launch;
}

StarterRequest starts(const Launch& launch) {
  return StarterOrders{
      {{.kind = OrderKind::kStart, .key = launch.key, .at = Instant::from_seconds(1), .launch = launch, .grace = {}}}};
}

TEST(StarterMessages, CarryAllOfALaunch) {
  const Launch launch = whole_launch();
  const auto read = parse_starter_request(to_json(starts(launch)));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*std::get<StarterOrders>(*read).orders.at(0).launch, launch);
}

TEST(StarterMessages, CarryWhatIsTold) {
  const Report ended{.kind = ReportKind::kEnded,
                     .key = {1, 0, 0},
                     .at = Instant::from_seconds(5),
                     .status = {.code = 0, .signal = 9},
                     .cause = EndCause::kOutOfMemory,
                     .detail = "too much",
                     .usage = TaskUsage{.cpu_time = Duration::seconds(3), .peak_memory = Bytes::mebi(2)}};
  const Refusal refused{
      .order = OrderKind::kStart, .kind = RefusalKind::kNotSo, .key = {2, 0, 0}, .at = ended.at, .detail = "no"};
  const auto read = read_starter_events(
      starter_events({.events = {ended, refused}, .running = {{3, 0, 1}}, .held = {{.gpu = 1, .why = "is not clear"}}}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto& report = std::get<Report>(read->events.at(0));
  EXPECT_EQ(report.status.signal, 9);
  EXPECT_EQ(report.cause, EndCause::kOutOfMemory);
  EXPECT_EQ(report.usage, ended.usage);
  EXPECT_EQ(std::get<Refusal>(read->events.at(1)).kind, RefusalKind::kNotSo);
  EXPECT_THAT(read->running, ElementsAre(LaunchKey{3, 0, 1}));
  EXPECT_EQ(read->held.at(0).why, "is not clear");
  EXPECT_EQ(read_starter_done(starter_error(make_error(ErrorCode::kConflict, "taken"))).error().code, ErrorCode::kConflict);
}

/// What a daemon that was taken over could add to, or put into, a message.
TEST(StarterMessages, HaveNoFieldForWhatIsTheStartersToSay) {
  const Json good = Json::parse(to_json(starts(whole_launch())));
  ASSERT_TRUE(parse_starter_request(good.dump()).ok());
  const auto refused = [&](const std::string& field, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer("/orders/0/launch/" + field)] = value;
    const auto read = parse_starter_request(bad.dump());
    return read.ok() ? "taken" : read.error().message;
  };
  for (const auto& [field, value] : {std::pair<std::string, Json>{"run_as", {{"uid", 0}, {"gid", 0}}},
                                     {"room", {{"home", "/root"}}},
                                     {"cgroup", "/sys/fs/cgroup"},
                                     {"log_base", "/etc/cron.d/x"},
                                     {"gpu_files", {"sda"}},
                                     {"more_devices", {"mem"}},
                                     {"device_group", "/x"}})
    EXPECT_THAT(refused(field, value), HasSubstr(field + "' may not be asked for"));
  EXPECT_THAT(refused("gpus/0/index", 4096), HasSubstr("'index'"));
  EXPECT_THAT(refused("gpus/0/index", -2), HasSubstr("'index'"));
  EXPECT_THAT(refused("gpus/0/uuid", "../../dev/sda"), HasSubstr("'uuid'"));
  EXPECT_THAT(refused("gpus/0/path", "/dev/sda"), HasSubstr("'path'"));
  EXPECT_THAT(refused("cpu_milli", -1), HasSubstr("'cpu_milli'"));
  EXPECT_THAT(refused("cpu_milli", 1.5), HasSubstr("'cpu_milli'"));
  EXPECT_THAT(refused("command", "sh"), HasSubstr("'command'"));
  for (const char* key : {"1.0", "../1.0.0", "1.0.0/../../x", "-1.0.0"}) {
    Json bad = good;
    bad["orders"][0]["key"] = key;
    EXPECT_FALSE(parse_starter_request(bad.dump()).ok()) << key;
  }
  for (const char* text :
       {"", "{}", "[]", R"({"do":"run","command":"sh"})", R"({"do":"kept_logs","folder":"/root"})",
        R"({"do":"read_log","key":"1.0.0","output":true,"error":true,"offset":0,"limit":99999999999,"ended":true})",
        R"({"do":"owner","pid":-1})", R"({"do":"orders","orders":[[[[[[[[[[[[1]]]]]]]]]]]]})"})
    EXPECT_FALSE(parse_starter_request(text).ok()) << text;
}

class StarterAtWork : public ::testing::Test {
 protected:
  StarterAtWork() {
    policy_.client = ::geteuid();
    policy_.jobs.state_folder = dir_ / "state";
    policy_.jobs.keeper = {STINT_TEST_KEEPER};
    policy_.jobs.clear.nvml_library = "no-such-library.so";
  }
  ~StarterAtWork() override {
    if (backend_) {
      for (const LaunchKey& key : backend_->running())
        backend_->submit({{.kind = OrderKind::kStop, .key = key, .at = now(), .launch = {}, .grace = {}}});
      until([&] { return backend_->drain(now()), backend_->running().empty(); });
    }
    backend_.reset();
    end();
  }
  void begin() {
    auto listener = listen_on_socket(socket_, std::nullopt);
    CHECK(listener.ok(), "{}", listener.error().message);
    server_ = std::make_unique<StarterServer>(
        policy_, std::move(*listener),
        [this](const std::string& what) {
          const std::lock_guard lock(mutex_);
          said_.push_back(what);
        },
        Duration());
    serves_ = std::thread([this] { server_->run(); });
  }
  void end() {
    if (server_) server_->stop();
    if (serves_.joinable()) serves_.join();
    server_.reset();
  }
  void connect() {
    auto backend = StarterBackend::connect({.socket = socket_});
    CHECK(backend.ok(), "{}", backend.error().message);
    backend_ = std::move(*backend);
  }
  std::vector<std::string> said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  template <typename Condition>
  static bool until(Condition condition) {
    for (int i = 0; i < 24'000 && !condition(); ++i)
      usleep(5000);
    return condition();
  }
  static Order start(int64_t job, const std::string& script, std::vector<GrantedGpu> gpus = {}) {
    Launch launch;
    launch.key = {.job = job, .attempt = 0, .task = 0};
    launch.command = {"sh", "-c", script};
    launch.gpus = std::move(gpus);
    return {.kind = OrderKind::kStart, .key = launch.key, .at = now(), .launch = launch, .grace = {}};
  }
  void drain() {
    for (BackendEvent& event : backend_->drain(now())) {
      if (auto* report = std::get_if<Report>(&event)) reports_.push_back(std::move(*report));
      if (auto* refusal = std::get_if<Refusal>(&event)) refusals_.push_back(std::move(*refusal));
    }
  }
  bool has_ended(int64_t job) {
    return until([&] {
      drain();
      return std::ranges::any_of(reports_, [&](const Report& r) { return r.key.job == job && r.kind == ReportKind::kEnded; });
    });
  }
  /// What somebody with the client's rights gets, who speaks for himself.
  std::string says(const std::vector<std::string>& texts) {
    const auto socket = connect_to_socket(socket_);
    CHECK(socket.ok(), "{}", socket.error().message);
    std::string last;
    for (const std::string& text : texts) {
      if (!send_message(*socket, text).ok()) return last;
      const auto answer = receive_message(*socket, kMostStarterMessage, size_t{1} << 20);
      if (!answer.ok()) return last;
      last = answer->text;
    }
    return last;
  }

  ScratchDir dir_;
  std::string socket_ = dir_ / "socket";
  StarterPolicy policy_;
  std::mutex mutex_;
  std::vector<std::string> said_;  // guarded
  std::unique_ptr<StarterServer> server_;
  std::thread serves_;
  std::unique_ptr<StarterBackend> backend_;
  std::vector<Report> reports_;
  std::vector<Refusal> refusals_;
};

TEST_F(StarterAtWork, ATaskOutlivesTheStarterAndItsEndIsTold) {
  begin();
  connect();
  backend_->submit({start(1, "echo begun; while [ ! -e " + (dir_ / "go") + " ]; do sleep 0.02; done; echo over; exit 5")});
  ASSERT_TRUE(until([&] { return drain(), !backend_->running().empty(); }));
  end();
  EXPECT_THAT(backend_->drain(now()),
              Contains(::testing::VariantWith<BackendNote>(::testing::Field(&BackendNote::text, HasSubstr("the starter")))));
  EXPECT_THAT(backend_->drain(now()), IsEmpty()) << "said once";
  backend_->submit({start(2, "echo later")});  // it is given once there is one again
  put_file(dir_ / "go", "");
  begin();
  ASSERT_TRUE(has_ended(1));
  ASSERT_TRUE(has_ended(2));
  EXPECT_EQ(std::ranges::count_if(reports_, [](const Report& r) { return r.key.job == 1 && r.status.code == 5; }), 1);
  const auto log = backend_->read_log({.key = {1, 0, 0}, .limit = 1000, .ended = true});
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->bytes, "begun\nover\n");
  const auto tasks = StarterBackend::tasks_of(socket_);
  ASSERT_EQ(tasks->kept_logs().size(), 2U);
  EXPECT_TRUE(tasks->cut_log({1, 0, 0}).ok());
  EXPECT_EQ(tasks->kept_logs().size(), 1U);
}

TEST_F(StarterAtWork, AnotherAccountIsRefused) {
  policy_.client = ::geteuid() + 1;
  begin();
  EXPECT_EQ(says({to_json(StarterHello{StarterRole::kOrders})}), "");
  ASSERT_TRUE(until([&] { return !said().empty(); }));
  EXPECT_THAT(said(), Contains(HasSubstr("may not ask")));
}

TEST_F(StarterAtWork, WhatMayNotBeAskedForEndsTheConnectionAndIsSaid) {
  begin();
  const std::string hello = to_json(StarterHello{StarterRole::kOrders});
  Json order = Json::parse(to_json(starts(whole_launch())));
  order["orders"][0]["launch"]["run_as"] = {{"uid", 0}, {"gid", 0}};
  EXPECT_THAT(says({hello, order.dump()}), HasSubstr("'run_as' may not be asked for"));
  ASSERT_TRUE(until([&] { return !said().empty(); }));
  EXPECT_THAT(said(), ElementsAre(AllOf(HasSubstr("refused"), HasSubstr("run_as"))));
  EXPECT_THAT(says({to_json(StarterKeptLogs{})}), HasSubstr("before 'hello'"));
  EXPECT_THAT(says({to_json(StarterHello{StarterRole::kQuestions}), to_json(starts(whole_launch()))}),
              HasSubstr("an order where"));
  EXPECT_NE(says({hello, std::string(kMostStarterMessage, '[')}), "") << "one that is large and deep";
  // A length that is not true takes no memory, and the server does not wait for the rest.
  const auto socket = connect_to_socket(socket_);
  ASSERT_TRUE(socket.ok());
  const std::string head = "\xff\xff\xff\xff\xff\xff\xff\xff";
  ASSERT_EQ(::write(socket->get(), head.data(), head.size()), 8);
  const auto answer = receive_message(*socket, 1000, 0);
  EXPECT_TRUE(answer.ok() && answer->text.find("at most") != std::string::npos);
  struct stat state = {};
  EXPECT_NE(::stat((policy_.jobs.state_folder + "/tasks/7.1.2").c_str(), &state), 0) << "nothing was begun";
}

TEST_F(StarterAtWork, AnOrderThatIsNotTakenKeepsNoOther) {
  policy_.gpus = {0, 1};
  begin();
  connect();
  backend_->submit({start(1, "exit 1"), start(2, "exit 2", {{.index = 5, .uuid = "", .mig_uuid = ""}}), start(3, "exit 3")});
  EXPECT_TRUE(has_ended(1));
  EXPECT_TRUE(has_ended(3));
  ASSERT_EQ(refusals_.size(), 1U);
  EXPECT_EQ(refusals_[0].key.job, 2);
  EXPECT_EQ(refusals_[0].kind, RefusalKind::kNotSo);
  EXPECT_THAT(refusals_[0].detail, HasSubstr("GPU 5"));
}

TEST_F(StarterAtWork, AGpuThatATaskHasForItselfIsGivenToNoOther) {
  begin();
  connect();
  backend_->submit({start(1, "sleep 100", {{.index = 0, .uuid = "", .mig_uuid = ""}})});
  ASSERT_TRUE(until([&] { return drain(), !backend_->running().empty(); }));
  backend_->submit({start(2, "exit 2", {{.index = 0, .uuid = "", .mig_uuid = ""}})});
  ASSERT_TRUE(until([&] { return drain(), !refusals_.empty(); }));
  EXPECT_THAT(refusals_[0].detail, HasSubstr("another task has GPU 0"));
  EXPECT_EQ(refusals_[0].kind, RefusalKind::kNotNow);
}

TEST_F(StarterAtWork, TwoDaemonsDoNotGiveOrders) {
  begin();
  connect();
  EXPECT_THAT(says({to_json(StarterHello{StarterRole::kOrders})}), HasSubstr("another daemon gives orders"));
}

}  // namespace
}  // namespace stint
