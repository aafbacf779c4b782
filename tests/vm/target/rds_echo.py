#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends back what comes to a plain RDS socket: rds_echo.py ADDRESS PORT"""
import socket
import sys

PF_RDS = 21
LONGEST = 1 << 20
SO_SNDBUFFORCE = 32  # RDS takes no message that is longer than half of it


def main():
    with socket.socket(PF_RDS, socket.SOCK_SEQPACKET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, LONGEST)
        sock.bind((sys.argv[1], int(sys.argv[2])))
        print("bound", flush=True)
        while True:
            message, sender = sock.recvfrom(LONGEST)
            sock.sendto(message, sender)


if __name__ == "__main__":
    main()
