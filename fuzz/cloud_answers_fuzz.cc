// Any bytes are an answer of a cloud or its files, or an error; the first byte says of what.
#include <cstdint>

#include "base/check.h"
#include "clouds/aws_credentials.h"
#include "clouds/azure_answers.h"
#include "clouds/azure_credentials.h"
#include "clouds/azure_machines.h"
#include "clouds/cloud_notice.h"
#include "clouds/ec2_answers.h"
#include "clouds/gce_answers.h"
#include "clouds/gce_machine.h"
#include "clouds/gcs_answers.h"
#include "clouds/google_credentials.h"
#include "clouds/metadata_address.h"
#include "clouds/object_url.h"
#include "clouds/s3_answers.h"
#include "clouds/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c': (void)stint::parse_aws_profiles(input, stint::AwsFileKind::kConfig, "fuzz"); break;
    case 'k': (void)stint::parse_aws_profiles(input, stint::AwsFileKind::kCredentials, "fuzz"); break;
    case 'j': (void)stint::parse_aws_credentials_json(input, "fuzz"); break;
    case 's': (void)stint::parse_sts_credentials(input, "AssumeRoleResult", "fuzz"); break;
    case 'e': (void)stint::parse_aws_error(503, input); break;
    case 'l': (void)stint::parse_s3_listing(input); break;
    case 'u': (void)stint::parse_s3_uploads(input); break;
    case 'p': (void)stint::parse_s3_parts(input); break;
    case 'r': (void)stint::parse_ec2_launched(input); break;
    case 'i': (void)stint::parse_ec2_instances(input); break;
    case 'h': (void)stint::parse_ec2_spot_prices(input); break;
    case 't': (void)stint::parse_ec2_spot_ends(input); break;
    case 'O': (void)stint::parse_ec2_offerings(input); break;
    case 'n':
      (void)stint::parse_aws_instance_action(input);
      (void)stint::parse_aws_rebalance(input);
      (void)stint::parse_google_preempted(input);
      (void)stint::parse_google_maintenance(input);
      (void)stint::parse_azure_events(input, "vm_1");
      break;
    case 'm': (void)stint::is_metadata_address(input); break;
    case 'g':
      (void)stint::parse_gcs_listing(input);
      (void)stint::parse_gcs_object(input);
      (void)stint::parse_gcs_error(404, input);
      break;
    case 'a':
      (void)stint::parse_azure_listing(input);
      (void)stint::parse_azure_blocks(input);
      (void)stint::parse_azure_error(404, "", input);
      break;
    case 'f':
      (void)stint::parse_gce_instances(input);
      (void)stint::parse_gce_operation(input);
      (void)stint::parse_gce_quotas(input);
      (void)stint::parse_gce_sold(input);
      (void)stint::parse_gce_error(503, input);
      CHECK(stint::text_of_gce_label(stint::gce_label_of(input)) == input, "a label says what was written");
      break;
    case 'v':
      (void)stint::parse_azure_vms(input);
      (void)stint::parse_azure_vm(input);
      (void)stint::parse_azure_operation(input);
      (void)stint::parse_azure_usages(input);
      (void)stint::parse_azure_api_error(409, input);
      break;
    case 'b':
      (void)stint::parse_bearer_token(input, "fuzz");
      (void)stint::parse_google_key_file(input, "fuzz");
      (void)stint::parse_azure_connection_string(input);
      break;
    case 'o': (void)stint::parse_object_url(input); break;
    default: (void)stint::parse_xml(input); break;
  }
  return 0;
}
