# rivulet_test(NAME unit.wire.frame LABEL unit SOURCES a.cpp ... [LIBRARIES x] [TIMEOUT seconds]): one GoogleTest
# program, each of its tests a ctest named NAME.Suite.Test, run in parallel.
function(rivulet_test)
  cmake_parse_arguments(arg "" "NAME;LABEL;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT RIVULET_TESTS)
    return()
  endif()
  find_package(GTest REQUIRED)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(RIVULET_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 6") # everything takes ten times as long
  endif()
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES rivulet_internal)
  endif()
  string(REPLACE "." "_" target "test_${arg_NAME}")
  add_executable(${target} ${arg_SOURCES})
  rivulet_compile_options(${target})
  # The library is optimised as for users; its tests need not be, and compile in two thirds of the time (in a third
  # under sanitizers, without any).
  target_compile_options(${target} PRIVATE $<IF:$<CONFIG:RelWithDebInfo>,-O1,-O0>)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} GTest::gtest_main)
  gtest_discover_tests(${target} TEST_PREFIX "${arg_NAME}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
