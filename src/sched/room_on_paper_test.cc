#include "sched/room_on_paper.h"

#include <gmock/gmock.h>

#include "sched/testing_world.h"

namespace stint::sched {
namespace {

using testing_world::at;
using testing_world::plain;
using testing_world::World;

Shape of_tasks(int32_t gpus, int32_t tasks) {
  Shape shape;
  shape.tasks = shape.min_tasks = tasks;
  shape.plain = true;
  shape.parts = {{.gpus = gpus, .tasks = tasks}};
  return shape;
}

/// Three nodes of 8 GPUs: 6 of the first are held by one job, all of the second by another, none of the third.
class RoomOnPaperTest : public ::testing::Test {
 protected:
  RoomOnPaperTest() : world_(plain(Order::kFifo), 3) {
    six_ = world_.submit(at(0), world_.job(6));
    eight_ = world_.submit(at(0), world_.job(8));
    open_.catch_up(world_.scheduler.cluster());
  }
  RoomOnPaper paper() { return {world_.scheduler.cluster(), open_, scratch_}; }
  [[nodiscard]] NodeId node_of(JobId job) const { return world_.scheduler.tasks_of(job)[0].place.node; }

  World world_;
  OpenNodes open_;
  RoomOnPaper::Scratch scratch_;
  JobId six_, eight_;
};

TEST_F(RoomOnPaperTest, CountsWhatWouldBeLeftAndWhatIsClaimed) {
  RoomOnPaper room = paper();
  EXPECT_EQ(room.room(node_of(six_)), 2);
  EXPECT_TRUE(room.fits(of_tasks(8, 1)));
  EXPECT_FALSE(room.fits(of_tasks(8, 2)));
  room.leave(world_.scheduler.tasks_of(eight_));
  EXPECT_TRUE(room.fits(of_tasks(8, 2)));
  room.claim(node_of(eight_), 1);
  EXPECT_FALSE(room.fits(of_tasks(8, 2)));
  EXPECT_EQ(room.room(node_of(eight_)), 7);
}

TEST_F(RoomOnPaperTest, OpenNodesAreChosenBeforeThoseThatOthersWouldLeave) {
  RoomOnPaper room = paper();
  room.leave(world_.scheduler.tasks_of(eight_));
  ASSERT_TRUE(room.choose_nodes(of_tasks(8, 2)));
  ASSERT_EQ(room.chosen().size(), 2U);
  EXPECT_EQ(room.chosen()[1].first, node_of(eight_));
  EXPECT_TRUE(room.is_needed(world_.scheduler.tasks_of(eight_)));
}

TEST_F(RoomOnPaperTest, WhoseRoomIsNotTakenNeedNotLeave) {
  RoomOnPaper room = paper();
  room.leave(world_.scheduler.tasks_of(six_));
  room.leave(world_.scheduler.tasks_of(eight_));
  ASSERT_TRUE(room.choose_nodes(of_tasks(8, 2)));
  EXPECT_FALSE(room.is_needed(world_.scheduler.tasks_of(eight_)));
  EXPECT_TRUE(room.is_needed(world_.scheduler.tasks_of(six_)));
  EXPECT_FALSE(room.choose_nodes(of_tasks(8, 1))) << "what it would have left counts no longer";
}

TEST_F(RoomOnPaperTest, EachBeginsWithThingsAsTheyAre) {
  {
    RoomOnPaper room = paper();
    room.leave(world_.scheduler.tasks_of(eight_));
    ASSERT_TRUE(room.choose_nodes(of_tasks(8, 2)));
  }
  RoomOnPaper room = paper();
  EXPECT_TRUE(room.chosen().empty());
  EXPECT_EQ(room.room(node_of(eight_)), 0);
  EXPECT_FALSE(room.node_with(9).valid());
}

}  // namespace
}  // namespace stint::sched
