# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # $work, $cache and $top: of tests/fresh
# The parts of tests/fresh that are about packages.

readonly PACKAGES_PAGE=docs/packages.md
readonly ON_A_DISK="From packages to a mounted file system"
readonly OLD_VERSION=0.1.0
# Where the sources of the earlier version are, in the machine that builds packages.
readonly EARLIER=/srv/kfbrick-earlier
# Where the page has the packages; those of the earlier version stand beside them.
readonly DEBS=/srv/kfbrick-packages
# What a maintainer of Debian would say, and we do not follow:
# there is no bug of Debian's that this upload closes.
readonly LINTIAN_LEAVES=initial-upload-closes-no-bugs

# page_of HEADING : the shell commands below it on the page that is its input
page_of()
{
	awk -v heading="## $1" '
		/^## / { here = $0 == heading; next }
		/^```/ { code = here && $0 == "```sh"; next }
		code { print; n++ }
		END { exit !n }'
}

# packages_page HEADING : likewise, on this tree's page
packages_page()
{
	page_of "$1" <$PACKAGES_PAGE
}

# earlier_commit : what is upgraded: the last release, or, as long as there is
# none, the oldest commit whose page has the commands that this tree's has, which
# are done with it. Prints nothing in a clone without history.
earlier_commit()
{
	local commit now
	if git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD^ 2>/dev/null; then
		return
	fi
	now=$(packages_page "$ON_A_DISK")
	git log --reverse --format=%H HEAD^ -- $PACKAGES_PAGE 2>/dev/null |
		while read -r commit; do
			git show "$commit:$PACKAGES_PAGE" | page_of "$ON_A_DISK" |
				cmp -s - <(echo "$now") || continue
			echo "$commit"
			break
		done
}

# earlier_stamp FOLDER : the option by which packages of the tree there are older
# than this tree's, if they are not
earlier_stamp()
{
	local was
	was=$(source_version "$1") || return
	[ "$was" != "$(source_version .)" ] || echo "--version $OLD_VERSION"
}

# bring_earlier FOLDER : its sources, to a machine; says what it is
bring_earlier()
{
	local commit
	commit=$(earlier_commit)
	mkdir "$1$EARLIER" || return
	if [ -n "$commit" ]; then
		git archive "$commit" | tar -C "$1$EARLIER" -xf - || return
		remark "the earlier version is $(git log -1 --format='%h of %cs' \
			"$commit"), $(git rev-list --count "$commit..HEAD") commits ago"
	else
		source_files | tar --null --no-recursion -T - -cf - |
			tar -C "$1$EARLIER" -xf - || return
		remark "this clone has no history: the earlier version is this tree" \
			"with another number, which shows less"
	fi
}

# build_packages_by FOLDER : what builds them, on this fresh machine: the page's
# command, which the commands of the test follow
build_packages_by()
{
	local stamp
	stamp=$(earlier_stamp "$1$EARLIER") || return
	echo "set -ex"
	packages_page "Building them" || return
	cat <<-END
		(cd $EARLIER && packaging/build-deb $stamp --output $DEBS.old)
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
	machine "$1" "$folder" && bring_earlier "$folder" &&
		build_packages_by "$folder" >"$work/commands" &&
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

# What the compiler has made of the driver is remembered in the machine, since an
# emulated compiler takes an hour for it. Debian's headers have a variable that
# puts ccache before the compiler; what they call stays the compiler that the
# packages brought. These are the environment of DKMS.
readonly COMPILED=/var/cache/compiled
readonly REMEMBERING=(
	DEBIAN_KERNEL_USE_CCACHE=1
	"CCACHE_DIR=$COMPILED"
	CCACHE_COMPILERCHECK=content
)

# page_with FOLDER : the page's commands, with the packages of that folder
page_with()
{
	packages_page "$ON_A_DISK" | sed "s|file:$DEBS |file:$1 |"
}

# what_packages_need : of the page's commands what a guest without a network cannot
# do: whatever its installation would bring besides our packages. Then ccache, which
# brings no compiler, and nothing that could be had from elsewhere.
what_packages_need()
{
	page_with $DEBS.old | sed -n '1,/^apt-get update/p'
	echo "apt() { apt-get install -s \"\$@\" | sed -n 's/^Inst \([^ ]*\).*/\1/p'; }"
	page_with $DEBS.old |
		sed -n 's/^apt-get install -y \(.*\)/apt \1 >needed/p' || return
	cat <<-END
		grep -x kfbrick-dkms needed
		grep -v -e kfbrick -e kfabric needed | xargs apt-get install -y -q
		apt-get install -y -q --no-install-recommends ccache
		rm -r needed /etc/apt/sources.list* /var/lib/apt/lists
		mkdir /etc/apt/sources.list.d
	END
}

# install_and_upgrade : what a guest does, too, as far as DKMS is concerned
install_and_upgrade()
{
	echo "set -ex"
	printf 'export %s\n' "${REMEMBERING[@]}"
	page_with $DEBS.old | sed '/^apt-get install /q'
	packages_page "$ON_A_DISK" | sed 1q
	cat <<-END
		apt-get update
		time apt-get upgrade -y
		ccache --show-stats
		rm -r $COMPILED/tmp
	END
}

# remember_compiling SUITE FOLDER : installs and upgrades in a copy of the machine,
# of which only what the compiler made is kept: in the guest DKMS builds the same
# sources below the same path, and all but the compiler's work is done anew.
remember_compiling()
{
	local copy=$2.copy
	cp -a "$2" "$copy" && install_and_upgrade >"$work/commands" &&
		in_machine "$1" "$copy" <"$work/commands" &&
		mv "$copy$COMPILED" "$2$COMPILED" || return
	rm -rf --one-file-system "$copy"
}

# packages_in_guest SUITE FOLDER : the page's commands, and what comes after them, in
# a guest that boots this machine
packages_in_guest()
{
	remember_compiling "$1" "$2" &&
		in_guest packages "$2" "${REMEMBERING[@]/#/--set=}"
}
