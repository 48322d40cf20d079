# Sourced by the scripts beside it: installs the system packages that they need where it can
# (on Debian and Ubuntu, as root or through sudo without a password), and elsewhere says
# exactly what is missing.

fail() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 3
}

# Prints the packages that are missing, one a line.
missing_packages() {
    command -v cc >/dev/null || echo build-essential # SQLite is compiled from source
    # Debian keeps the server's programs out of PATH.
    command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ||
        echo postgresql
    # The tests look at a server with these.
    { command -v psql && command -v pg_dumpall; } >/dev/null || echo postgresql-client
    # A Toxiproxy client of another language drives ours; at a desk it need not.
    [ "${CI-}" != true ] || { command -v node && command -v npm; } >/dev/null ||
        printf '%s\n' nodejs npm
}

install_packages() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        sudo --non-interactive true 2>/dev/null ||
            fail "missing packages: $*; run: sudo apt-get install $*"
        as_root=(sudo --non-interactive)
    fi
    command -v apt-get >/dev/null || fail "missing: $* (names as on Debian); install them and try again"
    "${as_root[@]}" apt-get update --quiet=2
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install --quiet=2 --yes "$@"
}

# Installs what the client toxiproxy_rust is built with, if it is missing.
need_openssl() {
    { command -v pkg-config && pkg-config --exists openssl; } >/dev/null ||
        install_packages pkg-config libssl-dev
}

# Installs whatever is missing.
need_packages() {
    local missing
    command -v cargo >/dev/null || fail "missing: cargo; install Rust 1.94 or later with https://rustup.rs"
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"
}
