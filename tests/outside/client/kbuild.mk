# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# mirror_client.ko: an upper layer that is built outside the tree, too: tests/outside/run.
obj-m += mirror_client.o
mirror_client-y := tests/outside/client/mirror_user.o
