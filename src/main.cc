#include "cli/cli.h"

int main(int argc, char** argv) { return stint::run_cli(argc, argv); }
