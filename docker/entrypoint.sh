#!/bin/sh
# Runs the program given. RIVULET_LINK names how publishers and relays offer their streams, unless --bind says it:
#   zmq/tcp posix/tcp   on all interfaces, any port
#   zmq/ipc posix/ipc   a socket in RIVULET_RUN_DIR (/run/rivulet), a volume that the containers of a host share
set -eu
folder=${RIVULET_RUN_DIR:-/run/rivulet}
link=${RIVULET_LINK:-}
unset RIVULET_LINK RIVULET_RUN_DIR

case "${1:-}" in
stream-pub | control_producer) name=$(hostname) ;;
stream-relay) name='{uid}' ;;
*) link='' ;;
esac
case " $* " in
*' --bind '*) link='' ;;
esac
case "$link" in
'') ;;
zmq/tcp | posix/tcp) set -- "$@" --bind "${link%/tcp}+tcp://*:*" ;;
zmq/ipc) set -- "$@" --bind "zmq+ipc://$folder/$name.sock" ;;
posix/ipc) set -- "$@" --bind "posix+unix://$folder/$name.sock" ;;
*)
    echo "RIVULET_LINK is '$link', needed is one of zmq/tcp, zmq/ipc, posix/tcp, posix/ipc" >&2
    exit 2
    ;;
esac
exec "$@"
