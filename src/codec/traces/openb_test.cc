#include "codec/traces/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Openb, ReadsNodes) {
  const auto nodes = read_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn0,8000,1,0,\n", "nodes.csv");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->front().name, "n1");
  EXPECT_EQ(nodes->front().cpu_milli, 64'000);
  EXPECT_EQ(nodes->front().memory, Bytes::gibi(int64_t{256}));
  EXPECT_EQ(nodes->front().gpus, 2);
  EXPECT_EQ(nodes->front().gpu_model, "P100");
}

TEST(Openb, ReadsPodsWithAndWithoutModels) {
  const auto pods = read_openb_pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
      "a,6000,12288,1,460,,LS\n"
      "b,6000,12288,4,1000,V100M32|V100M16|V100M32,LS\n"
      "c,6000,12288,0,0,,BE\n",
      "pods.csv");
  ASSERT_TRUE(pods.ok()) << pods.error().message;
  EXPECT_EQ((*pods)[0].gpu_milli, 460);
  EXPECT_THAT((*pods)[1].gpu_models, ElementsAre("V100M16", "V100M32"));
  EXPECT_EQ((*pods)[1].gpus, 4);
  EXPECT_TRUE((*pods)[2].gpu_models.empty());
  EXPECT_TRUE(read_openb_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n", "pods.csv").ok());
}

TEST(Openb, ReadsArrivals) {
  const auto orders = read_openb_arrivals("42 0002 0000\n\n43 0001\n", 3, "arrivals.txt");
  ASSERT_TRUE(orders.ok()) << orders.error().message;
  ASSERT_EQ(orders->size(), 2U);
  EXPECT_EQ(orders->front().seed, 42U);
  EXPECT_THAT(orders->front().pods, ElementsAre(2, 0));
}

TEST(Openb, ErrorsNameTheLine) {
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  EXPECT_THAT(read_openb_pods(header + "a,1,1,1,1000,\nb,1,1,2,500,\n", "p").error().message,
              HasSubstr("p:3: 2 GPUs of 500 milli"));
  EXPECT_THAT(read_openb_pods(header + "a,-1,1,1,1000,\n", "p").error().message, HasSubstr("p:2: cpu_milli"));
  EXPECT_THAT(read_openb_pods(header + "a,1,1,1,0,\n", "p").error().message, HasSubstr("p:2: 1 GPUs of 0 milli"));
  EXPECT_THAT(read_openb_pods(header + "a,1,1\n", "p").error().message, HasSubstr("p:2: 3 fields"));
  EXPECT_THAT(read_openb_pods("", "p").error().message, HasSubstr("p: empty"));
  EXPECT_THAT(read_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,2,\n", "n").error().message,
              HasSubstr("n:2: 2 GPUs of no model"));
  EXPECT_THAT(read_openb_nodes("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,17,X\n", "n").error().message,
              HasSubstr("n:2: gpu is `17`"));
  EXPECT_THAT(read_openb_arrivals("42 1\n43 7\n", 7, "a").error().message, HasSubstr("a:2: pod 7 of 7"));
  EXPECT_THAT(read_openb_arrivals("42 x\n", 7, "a").error().message, HasSubstr("a:1: `x`"));
  EXPECT_THAT(read_openb_arrivals("\n", 7, "a").error().message, HasSubstr("no arrivals"));
}

}  // namespace
}  // namespace stint
