# rivulet_fuzz_target(NAME fuzz.wire.hello SOURCES hello.cpp CORPUS folder): a libFuzzer target (LLVMFuzzerTestOneInput).
# With RIVULET_FUZZ it is linked with libFuzzer, and its ctest explores for a while from a fixed seed; run the program by
# hand to explore for longer. Otherwise its ctest replays the committed corpus, with any compiler and sanitizer.
function(rivulet_fuzz_target)
  cmake_parse_arguments(arg "" "NAME;CORPUS" "SOURCES" ${ARGN})
  string(REPLACE "." "_" target ${arg_NAME})
  get_filename_component(corpus ${arg_CORPUS} ABSOLUTE)
  add_executable(${target} ${arg_SOURCES})
  rivulet_compile_options(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz)
  target_link_libraries(${target} PRIVATE rivulet_internal)
  if(RIVULET_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    # New inputs go to the first folder: never into the sources.
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${target}_found)
    file(MAKE_DIRECTORY ${found})
    add_test(NAME ${arg_NAME} COMMAND ${target} -seed=1 -runs=200000 -max_len=4096 -timeout=10 -rss_limit_mb=1024
                                      -print_final_stats=1 ${found} ${corpus})
  else()
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
    add_test(NAME ${arg_NAME} COMMAND ${target} ${corpus})
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
