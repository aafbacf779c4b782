// SPDX-License-Identifier: BSD-2-Clause
// An unsigned value is never below zero: a lost error code.
@@
typedef uint8_t, uint16_t, uint32_t, uint64_t, __u8, __u16, __u32, __u64;
{unsigned int, unsigned long, uint8_t, uint16_t, uint32_t, uint64_t,
 __u8, __u16, __u32, __u64} V;
@@
* V < 0
