# SPDX-License-Identifier: Apache-2.0
# What the scripts in Tools share. Sourced, after `set -euo pipefail`.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

# Says what happens next.
step() { printf '\n==> %s\n' "$*"; }

# Says something about it.
say() { printf '    %s\n' "$*"; }

# Complains and ends the script.
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Ends the script for a wrong command line: 64 is EX_USAGE.
usage_error() {
    printf '%s: %s\nTry %s --help.\n' "$(basename "$0")" "$*" "$(basename "$0")" >&2
    exit 64
}

# The text of the comment at the head of the calling script, which is its help.
print_help() { sed -n '/^# Usage:/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# The folder of a configuration's products.
products_of() { swift build --package-path "$root" -c "$1" --show-bin-path; }

# Installs the Debian packages that find_missing puts into `packages`, as root; otherwise says how, and ends the script.
install_packages() {
    find_missing
    [ "${#packages[@]}" -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        fail "missing: ${packages[*]} (these are Debian's names). There is no apt-get here; install them by hand"
    if [ "$(id -u)" -ne 0 ]; then
        printf '%s\n' "Missing: ${packages[*]}. Run this, then try again:" "" \
            "  sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends ${packages[*]}'" "" >&2
        exit 1
    fi
    step "Installing ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    apt-get install -y --no-install-recommends "${packages[@]}"
    find_missing
    [ "${#packages[@]}" -eq 0 ] || fail "apt-get installed ${packages[*]}, and yet what they hold is not there"
}
