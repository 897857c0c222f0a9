# rivulet_benchmark(NAME perf.samples.sample_log SOURCES a.cpp ... [LIBRARIES x]): a Google Benchmark program, by default
# against the library's insides. ctest only checks that it runs; its figures mean something in a Release build on an
# idle machine.
function(rivulet_benchmark)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  find_package(benchmark REQUIRED)
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES rivulet_internal)
  endif()
  string(REPLACE "." "_" target "bench_${arg_NAME}")
  add_executable(${target} ${arg_SOURCES})
  rivulet_compile_options(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} benchmark::benchmark_main)
  add_test(NAME ${arg_NAME} COMMAND ${target} --benchmark_min_time=0.001)
  set_tests_properties(${arg_NAME} PROPERTIES LABELS perf TIMEOUT 120)
endfunction()
