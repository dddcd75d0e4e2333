#include "codec/traces/job_trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  JobTrace trace;
  TraceCounts counts;
};

/// Read in the format its header shows, in pieces of seven bytes.
Read read(std::string_view text) {
  const auto format = detect_trace_format(text.substr(0, text.find('\n')));
  EXPECT_TRUE(format.has_value());
  const auto reader = make_trace_reader(*format, "f");
  for (size_t at = 0; at < text.size(); at += 7)
    EXPECT_TRUE(reader->feed(text.substr(at, 7)).ok());
  auto trace = reader->finish();
  EXPECT_TRUE(trace.ok()) << trace.error().message;
  return {std::move(trace).value(), reader->counts()};
}

constexpr std::string_view kOpenbHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
constexpr std::string_view kDlrmHeader =
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,memory_limit,"
    "disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n";

TEST(JobTraceReader, TheHeaderShowsTheFormat) {
  EXPECT_EQ(detect_trace_format("cluster,duration,num_gpus,timestamp,vc"), TraceFormat::kCsv);
  EXPECT_EQ(detect_trace_format(kOpenbHeader), TraceFormat::kOpenb);
  EXPECT_EQ(detect_trace_format(kDlrmHeader), TraceFormat::kDlrm);
  EXPECT_EQ(detect_trace_format("\xEF\xBB\xBFJobID|User|State|Start|End"), TraceFormat::kSacct);
  EXPECT_EQ(detect_trace_format("a,b,c"), std::nullopt);
  for (const TraceFormat f : {TraceFormat::kCsv, TraceFormat::kOpenb, TraceFormat::kDlrm, TraceFormat::kSacct})
    EXPECT_EQ(parse_trace_format(name_of(f)).value(), f);
  EXPECT_FALSE(parse_trace_format("philly").ok());
}

TEST(JobTraceReader, AnOpenbPodRunsFromSchedulingToDeletion) {
  const Read r = read(std::string(kOpenbHeader) +
                      "a,12000,16384,1,460,V100M16|T4,LS,Running,100,1000,150\n"
                      "b,8000,1024,8,1000,,BE,Succeeded,200,500,200\n"
                      "c,8000,1024,0,0,,BE,Succeeded,200,500,200\n"
                      "d,8000,1024,1,1000,,BE,Pending,200,500,\n"
                      "e,8000,1024,1,1000,,BE,Running,200,,400\n");
  ASSERT_EQ(r.trace.jobs.size(), 3U);
  EXPECT_EQ(r.trace.jobs[0].submitted, Instant::from_seconds(100));
  EXPECT_EQ(r.trace.jobs[0].duration, Duration::seconds(850));
  const TraceShape& shape = r.trace.shapes[r.trace.jobs[0].shape];
  EXPECT_EQ(shape.milli, 460);
  EXPECT_EQ(shape.cpu_milli, 12'000);
  EXPECT_EQ(shape.memory, Bytes::of(int64_t{16} << 30));
  EXPECT_THAT(shape.gpu_models, ElementsAre("V100M16", "T4"));
  EXPECT_TRUE(shape.is_service);
  EXPECT_EQ(r.trace.jobs[1].gpus, 8);
  EXPECT_EQ(r.trace.shapes[r.trace.jobs[1].shape].milli, 0);
  EXPECT_EQ(r.trace.jobs[2].duration, Duration::seconds(600)) << "not deleted: runs to the last instant of the trace, 1000";
  EXPECT_EQ(r.counts.cpu_only, 1U);
  EXPECT_EQ(r.counts.never_ran, 1U);
  EXPECT_EQ(r.counts.accepted, 3U);
}

TEST(JobTraceReader, OpenbRowsThatAreNoPodsAreNamed) {
  const Read r = read(std::string(kOpenbHeader) +
                      "a,1,1,17,1000,,LS,Running,0,10,0\n"
                      "b,1,1,2,500,,LS,Running,0,10,0\n"
                      "c,1,1,1,1001,,LS,Running,0,10,0\n"
                      "d,1,1,1,1000,,LS,Running,soon,10,0\n"
                      "e,1,1,1,1000,,LS\n"
                      "f,1,1,1,1000,,LS,Running,0,10,10\n");
  EXPECT_EQ(r.counts.rejected, 5U);
  EXPECT_EQ(r.counts.never_ran, 1U);
  EXPECT_THAT(r.counts.reasons,
              ElementsAre(HasSubstr("f:2: num_gpu '17'"), HasSubstr("f:3: a part of each"), HasSubstr("f:4: gpu_milli '1001'"),
                          HasSubstr("f:5: creation_time 'soon'"), HasSubstr("f:6: 7 fields, expected 11")));
}

TEST(JobTraceReader, ADlrmInstanceMayBeThereBeforeTheTraceAndAfterIt) {
  const Read r = read(std::string(kDlrmHeader) +
                      "i0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,\n"
                      "i1,HN,app_1,12.5,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,300.5\n"
                      "i2,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,475.0,500,\n"
                      "i3,CN,app_9,64,64,0,0,1,1,320.0,320.0,544.0,640.0,-1,475.0,623.0,2000\n"
                      "i4,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,600,700,650\n"
                      "i5,HN,app_0,12,12,x,1,25,25,120.0,120.0,640.0,800.0,8,600,700,650\n");
  ASSERT_EQ(r.trace.jobs.size(), 3U);
  EXPECT_EQ(r.trace.jobs[0].submitted, Instant());
  EXPECT_EQ(r.trace.jobs[0].duration, Duration::seconds(2000)) << "the last instant anybody names";
  EXPECT_EQ(r.trace.jobs[1].duration, Duration::milliseconds(300'500));
  EXPECT_EQ(r.trace.jobs[2].submitted, Instant::from_seconds(475));
  EXPECT_EQ(r.trace.jobs[2].duration, Duration::seconds(1500));
  EXPECT_EQ(r.trace.shapes[r.trace.jobs[1].shape].cpu_milli, 12'500);
  EXPECT_THAT(r.trace.users, ElementsAre("app_0", "app_1"));
  EXPECT_EQ(r.counts.cpu_only, 1U);
  EXPECT_EQ(r.counts.never_ran, 1U);
  EXPECT_THAT(r.counts.reasons, ElementsAre(HasSubstr("f:7: gpu_request 'x'")));
}

TEST(JobTraceReader, SlurmJobsThatHeldGpusAreJobs) {
  const Read r = read(
      "JobID|User|Account|State|Submit|Start|End|ReqTRES|AllocTRES|NodeList\n"
      "1|ann|bio|COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00|2026-10-01T11:00:00|gres/gpu=4|gres/gpu=4|n1\n"
      "1.batch|||COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00|2026-10-01T11:00:00||gres/gpu=4|n1\n"
      "2|bob|bio|COMPLETED|2026-10-01T08:00:00|2026-10-01T09:00:00|2026-10-01T11:00:00|cpu=4|cpu=4|n1\n"
      "3|bob|ml|PENDING|2026-10-01T08:00:00|Unknown|Unknown|gres/gpu=4||None assigned\n"
      "4|bob|ml|FINISHED|2026-10-01T08:00:00|Unknown|Unknown|gres/gpu=4||None assigned\n");
  ASSERT_EQ(r.trace.jobs.size(), 1U);
  EXPECT_EQ(r.trace.jobs[0].gpus, 4);
  EXPECT_EQ(r.trace.jobs[0].duration, Duration::hours(2));
  EXPECT_THAT(r.trace.users, ElementsAre("bio"));
  EXPECT_EQ(r.counts.cpu_only, 1U);
  EXPECT_EQ(r.counts.never_ran, 1U);
  EXPECT_THAT(r.counts.reasons, ElementsAre(HasSubstr("f:6: State: 'FINISHED'")));
}

}  // namespace
}  // namespace stint
