// A keeper as a separate program: what `stint keeper` is, for tests that do not have the whole of stint.
#include "backends/local/keeper.h"

int main(int argc, char** argv) { return argc == 2 ? stint::run_keeper(argv[1]) : 2; }
