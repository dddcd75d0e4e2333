// Writes the hand-made audit reports as HTML files into a folder, for test_page.py to open in a browser.
#include <fstream>

#include "report/audit_html.h"
#include "report/testing_report.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const std::pair<const char*, stint::AuditReport> reports[] = {{"agency", stint::testing::agency_report()},
                                                                {"empty", stint::testing::empty_report()},
                                                                {"large", stint::testing::large_report()},
                                                                {"hostile", stint::testing::hostile_report()}};
  for (const auto& [name, report] : reports) {
    std::ofstream file(folder + "/" + name + ".html");
    file << stint::audit_html(report);
    if (!file.flush()) return 1;
  }
  return 0;
}
