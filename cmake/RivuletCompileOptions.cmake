# rivulet_compile_options(target): warnings, sanitizers and coverage for one of our own targets.
function(rivulet_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                           -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wimplicit-fallthrough)
  if(RIVULET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

if(RIVULET_SANITIZE)
  add_compile_options(-fsanitize=${RIVULET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RIVULET_SANITIZE})
endif()
if(RIVULET_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()
