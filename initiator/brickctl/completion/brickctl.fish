# SPDX-License-Identifier: BSD-2-Clause
#
# fish completion for brickctl: brickctl complete says what a word can become.

function __brickctl_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	for line in ($words[1] complete -- $words[2..-1] $current 2>/dev/null)
		switch $line
		case ':files'
			__fish_complete_path (string replace -r '^--[^=]*=' '' -- $current)
		case ':folders'
			__fish_complete_directories (string replace -r '^--[^=]*=' '' -- $current)
		case ':*'
		case '*'
			printf '%s\n' $line
		end
	end
end

complete -c brickctl -f -a '(__brickctl_complete)'
