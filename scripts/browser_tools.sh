#!/bin/sh
# Brings what the client for browsers is built and tested with, as far as it is not here: Chromium
# by apt-get, Rust's target for WebAssembly by rustup, packages by npm. Ends with 3 where this
# machine cannot have one of them, and writes which and why, a line for each; with 1 where our own
# files are to blame. Chromium is Debian's newest, since older ones are not kept there.
set -u
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
log=$(mktemp)
trap 'rm -f "$log"' EXIT
lacking=

has() { command -v "$1" >/dev/null 2>&1; }

# What is lacking, and what was said when it was to be brought.
lacks() {
    cat "$log" >&2
    lacking="$lacking$1
"
}

# A mirror that hangs is one that refuses.
bring() {
    echo "bringing $1" >&2
    shift
    if has timeout; then timeout 300 "$@"; else "$@"; fi >"$log" 2>&1
}

# The options are apt-get's: it waits for another that is at work, and asks a mirror again.
apt() {
    bring "$1" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 \
        -o Acquire::Retries=3 -o Acquire::http::Timeout=30 "$2" ${3:+-y --no-install-recommends $3}
}

a_browser() { has chromium || has chromium-browser || has google-chrome; }

if ! a_browser; then
    if ! has apt-get; then
        lacks "Chromium: there is no apt-get here; install it as this system does"
    elif [ "$(id -u)" != 0 ]; then
        lacks "Chromium: only root can install it: apt-get install chromium"
    else
        # Some list of the machine may not be had, while those that count are.
        apt "the lists of packages" update || cat "$log" >&2
        apt "Chromium" install "chromium fonts-liberation" && a_browser ||
            lacks "Chromium: apt-get could not install it"
    fi
fi

: >"$log"
there=$(rustc --print target-libdir --target $target 2>"$log") || there=
if ! [ -d "$there" ]; then
    if ! has rustup; then
        lacks "the target $target: there is no rustup here; install Rust's library for it"
    else
        bring "the target $target" rustup target add $target ||
            lacks "the target $target: rustup could not add it"
    fi
fi

: >"$log"
if ! has node || ! has npm; then
    lacks "Node 20 and npm: install them"
elif ! node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)'; then
    lacks "Node 20: this is $(node --version)"
else
    cd clients/browser
    # npm writes the first of these two last.
    if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
        bring "npm's packages" npm ci --no-audit --no-fund || {
            if grep -qE 'EUSAGE|EINTEGRITY|EJSONPARSE' "$log"; then
                cat "$log" >&2
                echo "clients/browser/package-lock.json is not what package.json asks for" >&2
                exit 1
            fi
            lacks "npm's packages: npm could not install them"
        }
    fi
fi

[ -z "$lacking" ] && exit
printf %s "$lacking"
exit 3
