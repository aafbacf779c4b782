# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A case that checks nothing.
# GROUP: one
true
