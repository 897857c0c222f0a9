#!/usr/bin/env bash
# Installs what building and testing need, builds, and runs all tests.
#
#   tests/run.sh [--preset dev|clang|asan|tsan|fuzz|coverage] [ARGUMENTS FOR CTEST]
#   tests/run.sh -L unit            only the unit tests
#   tests/run.sh --preset asan      under AddressSanitizer and UndefinedBehaviorSanitizer
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cmake/debian-packages.sh
. cmake/debian-packages.sh

preset=dev
if [ "${1:-}" = --preset ]; then
    preset=${2:?--preset needs a name}
    shift 2
fi
packages=("${RIVULET_BUILD_PACKAGES[@]}" "${RIVULET_TEST_PACKAGES[@]}")
case $preset in
clang | asan | fuzz) packages+=("${RIVULET_CLANG_PACKAGES[@]}") ;;
esac

rivulet_install "${packages[@]}"
rivulet_build "$preset"
ctest --preset "$preset" --parallel "$(nproc)" "$@"
