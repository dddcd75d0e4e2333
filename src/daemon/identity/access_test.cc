#include "daemon/identity/access.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Principal principal(std::vector<Grant> grants, Scopes scopes = Scopes::all()) { return {"ann", "t1", std::move(grants), scopes}; }

TEST(Access, ARoleHoldsInItsClientAlone) {
  const Principal ann = principal({{Role::kSubmitter, "agency"}, {Role::kViewer, "studio"}});
  EXPECT_TRUE(ann.may(Permission::kSubmit, "agency"));
  EXPECT_FALSE(ann.may(Permission::kSubmit, "studio"));
  EXPECT_TRUE(ann.may(Permission::kSeeJobs, "studio"));
  EXPECT_FALSE(ann.may(Permission::kSeeJobs, "other"));
  EXPECT_FALSE(ann.may(Permission::kSeeJobs, ""));
  EXPECT_FALSE(ann.may_everywhere(Permission::kSeeJobs));
  EXPECT_THAT(ann.clients_for(Permission::kSeeJobs), ElementsAre("agency", "studio"));
  EXPECT_THAT(ann.clients_for(Permission::kSubmit), ElementsAre("agency"));
  EXPECT_THAT(ann.clients_for(Permission::kRunNodes), IsEmpty());
}

TEST(Access, ASubmitterControlsTheirOwnAndAnAdminAll) {
  const Principal ann = principal({{Role::kSubmitter, "agency"}});
  EXPECT_TRUE(ann.may(Permission::kControl, "agency", "ann"));
  EXPECT_FALSE(ann.may(Permission::kControl, "agency", "bob"));
  EXPECT_FALSE(ann.may(Permission::kControl, "studio", "ann"));
  EXPECT_TRUE(principal({{Role::kClientAdmin, "agency"}}).may(Permission::kControl, "agency", "bob"));
  EXPECT_FALSE(principal({{Role::kClientAdmin, "agency"}}).may(Permission::kControl, "studio", "bob"));
}

TEST(Access, AnOperatorActsAndAnAuditorLooks) {
  const Principal op = principal({{Role::kOperator, ""}});
  const Principal auditor = principal({{Role::kAuditor, ""}});
  for (int i = 0; i < kPermissions; ++i) {
    const auto what = static_cast<Permission>(i);
    EXPECT_EQ(op.may_everywhere(what), what != Permission::kSeeAudit) << i;
    const bool looks = what == Permission::kSeeJobs || what == Permission::kSeeNodes || what == Permission::kSeeUsers ||
                       what == Permission::kSeeAudit || what == Permission::kOwnTokens;
    EXPECT_EQ(auditor.may_everywhere(what), looks) << i;
  }
}

TEST(Access, ATokenIsNoMoreThanItsScopes) {
  const Principal reader = principal({{Role::kOperator, ""}}, *parse_scopes("read"));
  EXPECT_TRUE(reader.may_everywhere(Permission::kSeeJobs));
  for (const Permission what : {Permission::kSubmit, Permission::kControl, Permission::kRunNodes, Permission::kManageUsers,
                                Permission::kManageClients, Permission::kOwnTokens, Permission::kApprove}) {
    EXPECT_FALSE(reader.may(what, "agency", "ann"));
    EXPECT_FALSE(reader.may_somewhere(what));
    EXPECT_FALSE(reader.may_everywhere(what));
  }
}

TEST(Access, WithoutARoleNothingIsAllowed) {
  for (int i = 0; i < kPermissions; ++i)
    EXPECT_FALSE(principal({}).may_somewhere(static_cast<Permission>(i)));
}

}  // namespace
}  // namespace stint
