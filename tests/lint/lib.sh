# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the lint checks share.

# The project's own files: tracked, or new and not ignored.
sources()
{
	git ls-files --cached --others --exclude-standard -- "$@" |
		while read -r file; do
			[ -f "$file" ] && echo "$file"
		done | sort -u
}

need()
{
	command -v "$1" >/dev/null && return 0
	echo "$1 is not installed"
	exit 77
}
