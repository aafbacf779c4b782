# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# verbs_look.ko: an upper layer that is built outside the tree, too: tests/outside/run.
obj-m += verbs_look.o
verbs_look-y := tests/outside/verbs/verbs_look.o
