# Installs the library, its headers, rivulet::rivulet for find_package, and rivulet.pc for pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rivulet)
install(TARGETS rivulet EXPORT rivuletTargets FILE_SET HEADERS)
install(EXPORT rivuletTargets NAMESPACE rivulet:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rivuletConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/rivuletConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rivuletConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/rivuletConfig.cmake ${PROJECT_BINARY_DIR}/package/rivuletConfigVersion.cmake
        DESTINATION ${package_dir})

# A shared library brings what it needs; an archive does not, so its dependencies are named for every use of it. As
# libraries and not as Requires: Debian's libzmq.pc lists private requirements of a static libzmq that do not link.
set(pc_libs "-L\${libdir} -lrivulet")
set(pc_cflags "-I\${includedir}")
if(NOT BUILD_SHARED_LIBS)
  list(JOIN libzmq_LDFLAGS " " zmq_flags)
  list(JOIN libsodium_LDFLAGS " " sodium_flags)
  string(APPEND pc_libs " ${zmq_flags} ${sodium_flags} -ltomlplusplus -lspdlog -lfmt -pthread")
  string(APPEND pc_cflags " -DRIVULET_STATIC")
endif()
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR absolute_libdir)
if(absolute_libdir)
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
else() # relative to the file, so that an installed tree can be moved
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
             OUTPUT_VARIABLE up)
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/rivulet.pc.in ${PROJECT_BINARY_DIR}/package/rivulet.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/rivulet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The documented defaults, to copy from: the library does not read this copy.
install(FILES ${PROJECT_SOURCE_DIR}/config/rivulet.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/rivulet)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/rivulet)
