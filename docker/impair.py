#!/usr/bin/env python3
"""Makes the network bad in whose namespace it runs: drops a share of all packets and delays the others, both ways.

Packets wait in the kernel (iptables' NFQUEUE) for what is said of each here. Needs NET_ADMIN; ends at SIGTERM, and the
network is good again.
"""

import argparse
import collections
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time

NETLINK_NETFILTER = 12
PACKET, VERDICT, CONFIG = 0x300, 0x301, 0x302  # messages of the subsystem for queues
QUEUE = 0
DROP, ACCEPT = 0, 1
ERROR = 2


def message(kind, attribute, payload):
    """One attribute, addressed to the queue."""
    padded = payload + bytes(-len(payload) % 4)
    body = struct.pack("!BBH", socket.AF_UNSPEC, 0, QUEUE) + struct.pack("=HH", 4 + len(payload), attribute) + padded
    return struct.pack("=IHHII", 16 + len(body), kind, 1, 0, 0) + body


def packet_ids(data):
    """Of the packets that these messages announce."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        at = 20
        while kind == PACKET and at < length:
            size, attribute = struct.unpack_from("=HH", data, at)
            if attribute == 1:  # the packet's header
                yield struct.unpack_from("!I", data, at + 4)[0]
            at += (size + 3) & ~3
        if kind == ERROR and (code := struct.unpack_from("=i", data, 16)[0]):
            raise OSError(-code, "the kernel refuses to queue packets")
        data = data[(length + 3) & ~3:]


def open_queue():
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    link.bind((0, 0))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    link.send(message(CONFIG, 1, struct.pack("!BBH", 1, 0, 0)))  # this process answers for the queue
    link.send(message(CONFIG, 2, struct.pack("!IB", 0, 1)))  # and needs not see what is in the packets
    link.send(message(CONFIG, 3, struct.pack("!I", 65536)))  # that many may wait
    return link


def send_through_queue(interface):
    for chain, option in (("INPUT", "-i"), ("OUTPUT", "-o")):
        subprocess.run(["iptables", "-A", chain, option, interface, "-j", "NFQUEUE", "--queue-num", str(QUEUE),
                        "--queue-bypass"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interface", default="eth0", metavar="NAME", help="whose packets (default: eth0)")
    parser.add_argument("--loss", type=float, default=0.03, metavar="SHARE", help="of them dropped (default: 0.03)")
    parser.add_argument("--delay-ms", type=float, default=20, metavar="MS", help="of each of the others (default: 20)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    link = open_queue()
    try:
        send_through_queue(options.interface)
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"impair: this kernel or container has no NFQUEUE, nothing is impaired: {problem}")
    print(f"impair: {options.loss:.1%} of the packets of {options.interface} dropped, {options.delay_ms} ms of delay, "
          "each way", file=sys.stderr)

    waiting = collections.deque()  # (when it may go on, its id)
    while True:
        timeout = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        if select.select([link], [], [], timeout)[0]:
            due = time.monotonic() + options.delay_ms / 1000
            waiting.extend((due, packet) for packet in packet_ids(link.recv(1 << 16)))
        while waiting and waiting[0][0] <= time.monotonic():
            verdict = DROP if random.random() < options.loss else ACCEPT
            link.send(message(VERDICT, 2, struct.pack("!II", verdict, waiting.popleft()[1])))


if __name__ == "__main__":
    main()
