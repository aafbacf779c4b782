# SPDX-License-Identifier: BSD-2-Clause
"""What tests/vm/run is made of: kernels, initramfs, guests, cases."""
