#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends packets to a UD queue pair, as nobody's device would: of any length.

ud_packets.py DEVICE MAC FROM TO QPN BYTES...: out of a network device, to who has the MAC
and the address TO, by RoCE v2 (InfiniBand Architecture Specification, annex A17)
"""
import socket
import struct
import sys
import zlib

ROCE_PORT = 4791
UD_SEND_ONLY = 0x64
DEFAULT_PKEY = 0xFFFF
QKEY = 0x01234567  # of rdma_cm's port space for datagrams
SOURCE_QPN = 0x123


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, target, length, tos=0, ttl=64, check=0):
    return struct.pack(
        "!BBHHHBBH4s4s", 0x45, tos, length, 0, 0x4000, ttl, socket.IPPROTO_UDP, check, source, target
    )


def udp(length, check=0):
    return struct.pack("!HHHH", ROCE_PORT, ROCE_PORT, length, check)


def bth(qpn, pad, reserved=0):
    return struct.pack("!BBHII", UD_SEND_ONLY, pad << 4, DEFAULT_PKEY, reserved << 24 | qpn, 0)


def packet(source, target, qpn, count):
    """An IP packet; what routers change counts as ones in the last four bytes' CRC."""
    pad = -count % 4
    rest = struct.pack("!II", QKEY, SOURCE_QPN) + bytes(count + pad)
    udp_length = 8 + 12 + len(rest) + 4
    fixed = (
        b"\xff" * 8
        + ipv4(source, target, 20 + udp_length, 0xFF, 0xFF, 0xFFFF)
        + udp(udp_length, 0xFFFF)
        + bth(qpn, pad, 0xFF)
    )
    crc = struct.pack("<I", zlib.crc32(fixed + rest))
    check = checksum(ipv4(source, target, 20 + udp_length))
    header = ipv4(source, target, 20 + udp_length, check=check)
    return header + udp(udp_length) + bth(qpn, pad) + rest + crc


def main():
    device, mac, source, target, qpn = sys.argv[1:6]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((device, 0))
        frame = bytes.fromhex(mac.replace(":", "")) + sock.getsockname()[4] + b"\x08\x00"
        for count in sys.argv[6:]:
            addresses = socket.inet_aton(source), socket.inet_aton(target)
            sock.send(frame + packet(*addresses, int(qpn), int(count)))


if __name__ == "__main__":
    main()
