#!/usr/bin/env bash
# Installs what building needs, builds Rivulet, and shows a publisher and a subscriber exchanging a stream.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
# shellcheck source=cmake/debian-packages.sh
. cmake/debian-packages.sh

rivulet_install "${RIVULET_BUILD_PACKAGES[@]}"
rivulet_build release
bin=build/release/bin

work=$(mktemp -d)
publisher=''
cleanup() {
    if [ -n "$publisher" ]; then
        kill "$publisher" 2>/dev/null || true
        wait "$publisher" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

endpoint=zmq+ipc://$work/demo.sock
publish=("$bin/stream-pub" --name demo --source-id demo --channels 2 --rate 10 --signal sine --bind "$endpoint")
subscribe=("$bin/stream-sub" --connect "$endpoint" --count 30 --timeout 20)

printf '\n$ %s &\n' "${publish[*]}"
"${publish[@]}" &
publisher=$!
printf '$ %s\n' "${subscribe[*]}"
"${subscribe[@]}"

kill -TERM "$publisher"
wait "$publisher"
publisher=''
cat <<END

That was 3 seconds of a 2-channel stream at 10 Hz: time stamp in seconds, then the channels.
The programs are in $root/$bin; each explains itself with --help. To install them and the library:
  cmake --install build/release --prefix /usr/local
END
