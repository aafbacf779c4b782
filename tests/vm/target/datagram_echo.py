#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends back what comes to a plain socket: datagram_echo.py rds|udp ADDRESS PORT"""
import socket
import sys

PF_RDS = 21
LONGEST = 1 << 20
ROOM = 4 << 20
SO_SNDBUFFORCE = 32  # RDS takes no message that is longer than half of it
SO_RCVBUFFORCE = 33


def open_socket(kind, address):
    if kind == "rds":
        return socket.socket(PF_RDS, socket.SOCK_SEQPACKET)
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)


def main():
    kind, address, port = sys.argv[1:]
    with open_socket(kind, address) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, LONGEST)
        if kind == "udp":
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
        sock.bind((address, int(port)))
        print("bound", flush=True)
        while True:
            message, sender = sock.recvfrom(LONGEST)
            sock.sendto(message, sender)


if __name__ == "__main__":
    main()
