# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # $work, $cache and $top: of tests/fresh
# The parts of tests/fresh that are about packages.

readonly PACKAGES_PAGE=docs/packages.md
readonly OLD_VERSION=0.1.0
# Where the page has the packages; those of the earlier version stand beside them.
readonly DEBS=/srv/kfbrick-packages
# What a maintainer of Debian would say, and we do not follow:
# there is no bug of Debian's that this upload closes.
readonly LINTIAN_LEAVES=initial-upload-closes-no-bugs

# packages_page HEADING : the shell commands below it on the page
packages_page()
{
	awk -v heading="## $1" '
		/^## / { here = $0 == heading; next }
		/^```/ { code = here && $0 == "```sh"; next }
		code { print; n++ }
		END { exit !n }' $PACKAGES_PAGE
}

# build_packages_by : what builds them, on a fresh machine: the page's command,
# which the commands of the test follow
build_packages_by()
{
	echo "set -ex"
	packages_page "Building them" || return
	cat <<-END
		packaging/build-deb --version $OLD_VERSION --output $DEBS.old
		apt-get install -y -qq lintian
		lintian --fail-on error,warning --display-level '>=warning' \
			--suppress-tags $LINTIAN_LEAVES $DEBS/*.changes
	END
}

# packages_built SUITE : builds the packages, in a machine that goes then, if this
# run has not done so
packages_built()
{
	local folder=$work/$1-build failed=$work/$1-build-failed
	[ ! -d "$work/$1-debs" ] || return 0
	if [ -e "$failed" ]; then
		echo "the packages could not be built: the step before has said why"
		return 1
	fi
	: >"$failed"
	machine "$1" "$folder" && build_packages_by >"$work/commands" &&
		in_machine "$1" "$folder" <"$work/commands" || return
	mkdir "$work/$1-debs" &&
		mv "$folder$DEBS" "$folder$DEBS.old" "$work/$1-debs" &&
		rm "$failed" &&
		rm -rf --one-file-system "$folder"
}

# bring_packages SUITE FOLDER : to a machine
bring_packages()
{
	packages_built "$1" && cp -r "$work/$1-debs/." "$2/srv/"
}

# up_to_packages : of the page's commands what a guest need not do, with the
# earlier version: it is upgraded there
up_to_packages()
{
	packages_page "From packages to a mounted file system" |
		sed -n "s|file:$DEBS |file:$DEBS.old |; /^ /b; p; /^apt-get install /q"
}
