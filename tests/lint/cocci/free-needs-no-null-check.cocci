// SPDX-License-Identifier: BSD-2-Clause
// free() and kfree() take NULL.
@@
expression E;
@@
- if (E != NULL)
(
  free(E);
|
  kfree(E);
)
@@
expression E;
@@
- if (E)
(
  free(E);
|
  kfree(E);
)
