"""Ports for the servers of tests.

They lie below those that the kernel gives to connections: otherwise the connection of a test beside it can take a port
between the time when it was found free and the time when its server listens.
"""
import pathlib
import random
import socket

LOWEST = 10_000


def free_ports(count):
    """The first of so many in a row, each free now."""
    given_to_connections = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        first = random.SystemRandom().randrange(LOWEST, max(given_to_connections, LOWEST + 2 * count) - count)
        try:
            for port in range(first, first + count):
                with socket.socket() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


def free_port():
    return free_ports(1)
