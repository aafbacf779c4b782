# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Installing what a list in tests/packages/ names, with the system's package
# manager, and only if something of it is missing.

# packages_listed FILE... : the packages of these lists
packages_listed()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$@"
}

# packages_missing FILE... : those not installed
packages_missing()
{
	local package
	packages_listed "$@" | while read -r package; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" \
			2>/dev/null | grep -qx installed || echo "$package"
	done
}

# packages_install FILE... : install them; fails with a message when it cannot
packages_install()
{
	local missing
	if ! command -v apt-get >/dev/null; then
		echo "no apt-get here: please install the counterparts of" \
			"$(packages_listed "$@" | paste -sd' ')" >&2
		return 0
	fi
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "missing packages, install them as root:" \
			"apt-get install $(paste -sd' ' <<<"$missing")" >&2
		return 1
	fi
	echo "installing: $(paste -sd' ' <<<"$missing")"
	apt-get update -qq || return 1
	# shellcheck disable=SC2086 # one word a package
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends $missing >/dev/null
}
