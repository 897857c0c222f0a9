#!/usr/bin/env bash
# package_test.sh (--built BUILD_DIR | --build shared|static) --work DIR
# Environment: CXX, CMAKE_GENERATOR, RIVULET_VERSION (what the programs must print).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
built='' kind='' work=''
while [ $# -gt 0 ]; do
    case $1 in
    --built) built=$2 ;;
    --build) kind=$2 ;;
    --work) work=$2 ;;
    *) echo "package_test.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done

mkdir -p "$work"
if [ -n "$kind" ]; then
    built=$work/build
    [ "$kind" = shared ] && shared=ON || shared=OFF
    # Unoptimised: what is tested is the packaging.
    cmake -S "$root" -B "$built" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DBUILD_SHARED_LIBS="$shared" \
        -DRIVULET_TOOLS=OFF -DRIVULET_EXAMPLES=OFF >"$work.configure.log" || { cat "$work.configure.log"; exit 1; }
    cmake --build "$built" --parallel 2 --target all rivulet_verify_interface_header_sets
fi

prefix=$work/prefix
rm -rf "$prefix" "$work/consumer" "$work/moved"
cmake --install "$built" --prefix "$prefix" >/dev/null
# What is installed must not depend on where: move it.
mv "$prefix" "$work/moved"
prefix=$work/moved

check() { # check NAME COMMAND...: runs the program and compares what it prints
    local name=$1 printed
    shift
    printed=$("$@")
    if [ "$printed" != "rivulet $RIVULET_VERSION" ]; then
        echo "$name printed '$printed' instead of 'rivulet $RIVULET_VERSION'" >&2
        exit 1
    fi
    echo "$name: $printed"
}

cmake -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug
cmake --build "$work/consumer"
check find_package "$work/consumer/consumer"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name rivulet.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir rivulet)
for mode in "" --static; do
    # shellcheck disable=SC2046,SC2086 # flags are to be split
    "$CXX" -std=c++20 "$here/consumer/main.cpp" -o "$work/consumer/by_pkg_config" \
        $(pkg-config $mode --cflags --libs rivulet)
    check "pkg-config $mode" env LD_LIBRARY_PATH="$libdir" "$work/consumer/by_pkg_config"
done

# A shared library shows its API and nothing of its insides or of what it is made from.
if [ -e "$libdir/librivulet.so" ]; then
    strange=$(nm -DC --defined-only "$libdir/librivulet.so" | awk '$2 ~ /[TDBR]/ {
        $1 = $2 = ""; sub(/^ +/, "")
        if ($0 !~ /^rivulet::/ || $0 ~ /^rivulet::(detail|wire|transport|platform|discovery|service)::/) print }')
    if [ -n "$strange" ]; then
        printf 'librivulet.so exports what is not its API:\n%s\n' "$strange" >&2
        exit 1
    fi
fi

for program in "$prefix"/bin/*; do
    [ -e "$program" ] || continue # built without the programs
    "$program" --version
done
