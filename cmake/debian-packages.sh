# shellcheck shell=bash
# For sourcing: the Debian packages that building and testing need, and what the scripts share. The only list there is.

# shellcheck disable=SC2034 # used by the scripts that source this file
RIVULET_BUILD_PACKAGES=(g++ cmake ninja-build pkg-config libzmq3-dev libsodium-dev libmsgpack-cxx-dev
    libtomlplusplus-dev libfmt-dev libspdlog-dev libcli11-dev)
# shellcheck disable=SC2034 # what built programs need, on Debian 12
RIVULET_RUNTIME_PACKAGES=(libzmq5 libsodium23 libfmt9 libspdlog1.10 libtomlplusplus3)
# shellcheck disable=SC2034
RIVULET_TEST_PACKAGES=(libgtest-dev libbenchmark-dev python3 python3-zmq python3-msgpack python3-yaml iproute2
    iptables procps systemd)
# Any kubectl will do.
command -v kubectl >/dev/null || RIVULET_TEST_PACKAGES+=(kubernetes-client)
# shellcheck disable=SC2034
RIVULET_CLANG_PACKAGES=(clang-14 libclang-rt-14-dev)
# shellcheck disable=SC2034
RIVULET_CI_PACKAGES=(git ccache clang-format-14 shellcheck)

# rivulet_install PACKAGE...: installs those that are missing, and says so. Does nothing when all are there.
rivulet_install() {
    if ! command -v dpkg-query >/dev/null; then
        echo "Not a Debian system: make sure that you have the equivalents of: $*" >&2
        return 0
    fi
    local missing=() package
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "These packages are missing, and installing them needs root: ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "Installing Debian packages: ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
            -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        rm -f "$log"
        echo "apt-get could not install: ${missing[*]}" >&2
        return 1
    fi
    rm -f "$log"
}

# rivulet_jobs: how many compilers to run at once; each may take about 1 GiB.
rivulet_jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
    [ "$memory" -ge 1 ] || memory=1
    [ "$cores" -le "$memory" ] && echo "$cores" || echo "$memory"
}

# rivulet_build PRESET [ARGUMENTS FOR CMAKE]: configures (quietly, unless that fails) and builds.
rivulet_build() {
    local log
    log=$(mktemp)
    if ! cmake --preset "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
    echo "Building build/$1"
    cmake --build --preset "$1" --parallel "$(rivulet_jobs)"
}
