# stint_module(NAME DEPS a b c [LIBS x y])
#
# One folder of src/, with its sub-folders, is one static library `stint_NAME` and, when it has *_test.cc files, one test
# program `stint_NAME_test`. DEPS are the modules this one may link and include; the layer check
# (tests/layers) reads the same list, so the arrow in ARCHITECTURE.md is the arrow in the build.
#
# Reading headers costs more than compiling what stands below them. So a module's sources are compiled
# sixteen to a unit (STINT_UNITY), in every preset alike, and the tests share one precompiled header.
# `scripts/build-times` shows where the time goes.

# stint_batches(RESULT NAME SOURCES...): sources that include the given ones, sixteen each. CMake's own UNITY_BUILD names them by absolute
# paths, so that no two checkouts would share what the compiler cache holds; these name them as headers are named.
function(stint_batches result name)
  set(units "")
  set(unit "")
  set(count 0)
  foreach(source ${ARGN})
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(definitions OR NOT source MATCHES "\\.cc$")  # compiled in its own way: by itself
      list(APPEND units ${source})
      continue()
    endif()
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    string(APPEND unit "#include \"${path}\"\n")
    math(EXPR count "${count} + 1")
    math(EXPR full "${count} % 16")
    if(full EQUAL 0)
      math(EXPR index "${count} / 16")
      file(CONFIGURE OUTPUT batches/${name}_${index}.cc CONTENT "${unit}" @ONLY)
      list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_${index}.cc)
      set(unit "")
    endif()
  endforeach()
  if(unit)
    file(CONFIGURE OUTPUT batches/${name}_last.cc CONTENT "${unit}" @ONLY)
    list(APPEND units ${CMAKE_CURRENT_BINARY_DIR}/batches/${name}_last.cc)
  endif()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

# stint_register_tests(PROGRAM PREFIX [LABEL label] [TIMEOUT seconds]): each test of a GoogleTest program as a test of ctest, in a process
# of its own. With sanitizers such a process takes longer to start than most tests run: there all tests of a program share four.
function(stint_register_tests program prefix)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "" ${ARGN})
  set(properties "")
  if(ARG_LABEL)
    set(properties LABELS ${ARG_LABEL})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(NOT STINT_SANITIZE)
    gtest_discover_tests(${program} TEST_PREFIX "${prefix}." DISCOVERY_TIMEOUT 60 PROPERTIES ${properties} TIMEOUT ${ARG_TIMEOUT})
    return()
  endif()
  foreach(shard RANGE 3)  # 0 to 3; COST: begun first
    add_test(NAME ${prefix}.shard_${shard} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${prefix}.shard_${shard} PROPERTIES ${properties} TIMEOUT 1800 COST 50
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

function(stint_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc ${dir}/*.S)
  list(FILTER sources EXCLUDE REGEX "/serve/grpc/")  # stint_serve_grpc (StintGrpc.cmake)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND stint_ OUTPUT_VARIABLE deps)
  if(NOT sources)  # headers only
    add_library(stint_${name} INTERFACE)
    target_link_libraries(stint_${name} INTERFACE ${deps} ${ARG_LIBS})
    return()
  endif()
  if(STINT_UNITY)
    stint_batches(sources ${name} ${sources})
  endif()
  add_library(stint_${name} STATIC ${sources})
  target_include_directories(stint_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(stint_${name} PUBLIC ${deps} PRIVATE stint_warnings PUBLIC ${ARG_LIBS})
  set_property(GLOBAL APPEND PROPERTY STINT_MODULES ${name})
  set_property(GLOBAL PROPERTY STINT_DEPS_${name} ${ARG_DEPS})
  if(tests AND STINT_TESTS)
    add_executable(stint_${name}_test ${tests})
    target_link_libraries(stint_${name}_test PRIVATE stint_${name} stint_testing stint_warnings
                          ${ARG_TEST_LIBS} GTest::gmock GTest::gtest_main)
    target_precompile_headers(stint_${name}_test REUSE_FROM stint_test_headers)
    stint_register_tests(stint_${name}_test ${name} LABEL ${name})
  endif()
endfunction()
