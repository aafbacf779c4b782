// SPDX-License-Identifier: BSD-2-Clause
// The size of a pointer where the size of what it points at was meant.
@@
expression *E;
expression F;
@@
(
- memset(E, F, sizeof(E))
+ memset(E, F, sizeof(*E))
|
- memcpy(E, F, sizeof(E))
+ memcpy(E, F, sizeof(*E))
|
- E = malloc(sizeof(E))
+ E = malloc(sizeof(*E))
)
