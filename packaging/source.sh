# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The sources of a release, for packages: what build-deb, build-rpm and
# tests/fresh share.

# source_files : the files of the tree in this folder, each with a NUL behind it:
# what git has or would add, or in an unpacked release whatever is no build's
source_files()
{
	local file
	if [ -e .git ]; then
		git ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do
				[ ! -e "$file" ] || printf '%s\0' "$file"
			done
	else
		find . -path './build*' -prune -o ! -type d -printf '%P\0'
	fi
}

# source_version FOLDER : of the tree there
source_version()
{
	sed -n "s/^  version: '\(.*\)',\$/\1/p" "$1/meson.build" | head -n 1
}

# source_restamp FOLDER VERSION : a tree there that says it is that version. An
# upgrade is tested so: no package of an earlier version is kept.
source_restamp()
{
	local was
	was=$(source_version "$1")
	sed -i "0,/^  version: '.*',\$/s//  version: '$2',/" "$1/meson.build" &&
		sed -i "1s/($was-/($2-/" "$1/packaging/debian/changelog" &&
		sed -i "s/ $was\$/ $2/" "$1"/packaging/debian/*.symbols &&
		sed -i "s/^\(Version: *\)$was\$/\1$2/" "$1/packaging/rpm/kfbrick.spec"
}

# source_copy FOLDER [VERSION] : this tree's files, in that new folder
source_copy()
{
	mkdir "$1" && source_files |
		tar --null --no-recursion -T - -cf - | tar -C "$1" -xf - || return
	[ -z "${2:-}" ] || source_restamp "$1" "$2"
}

# source_tarball FOLDER FILE : of a tree there, the same for the same files
source_tarball()
{
	tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime="@${SOURCE_DATE_EPOCH:-0}" --mode=go=rX,u+rw -cJf "$2" \
		"$(basename "$1")"
}
