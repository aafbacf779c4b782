# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Installing what a list in tests/packages/ names, with the system's package
# manager, and only if something of it is missing. A line of a list is a package,
# or several with "|" between them: the first that this release has.

# packages_listed FILE... : the lines of these lists
packages_listed()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"
}

# any_of LINE NAMES : whether one of its packages is among the names, one a line
any_of()
{
	local package
	for package in ${1//|/ }; do
		[[ $'\n'$2$'\n' != *$'\n'"$package"$'\n'* ]] || return 0
	done
	return 1
}

# first_offered LINE : the first of its packages that apt knows, or all of it
first_offered()
{
	local package
	# It takes a third of a second to ask, and where there is no choice none is made.
	[[ $1 == *"|"* ]] || { echo "$1" && return; }
	for package in ${1//|/ }; do
		if apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
			echo "$package"
			return
		fi
	done
	echo "$1"
}

# packages_missing FILE... : those lines of which nothing is installed
packages_missing()
{
	local line installed
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null |
		sed -n 's/^installed //p')
	packages_listed "$@" | while read -r line; do
		any_of "$line" "$installed" || echo "$line"
	done
}

# packages_install FILE... : install them; fails with a message when it cannot
packages_install()
{
	local missing line packages=()
	if ! command -v apt-get >/dev/null; then
		echo "no apt-get here: please install the counterparts of" \
			"$(packages_listed "$@" | paste -sd, | sed 's/,/, /g')" >&2
		return 0
	fi
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "missing packages, install them as root:" \
			"apt-get install $(sed 's/ *|.*//' <<<"$missing" |
				paste -sd' ')" >&2
		return 1
	fi
	[ -n "${packages_are_known:-}" ] || apt-get update -qq || return 1
	packages_are_known=yes # for this process: nobody waits for it twice
	while read -r line; do
		packages+=("$(first_offered "$line")")
	done <<<"$missing"
	echo "installing: ${packages[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "${packages[@]}" >/dev/null || return
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	echo "still not installed:" "$(paste -sd' ' <<<"$missing")" >&2
	return 1
}
