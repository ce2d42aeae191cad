#!/bin/sh
# Installs manyhands @VERSION@ for the current user, without root:
#
#   curl -fsSL @DOWNLOAD@/install.sh | sh
#
# Options (after `sh -s --` when piped):
#   --from DIR|URL   where the release is: a folder, or an address (default: @DOWNLOAD@)
#   --version V      another version than @VERSION@
#   --to PREFIX      where to install (default: ~/.local): PREFIX/bin, PREFIX/share
#   --uninstall      remove what was installed; your data in ~/.manyhands stay
set -eu

fail() {
    echo "install.sh: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

# The target whose archive runs here.
target() {
    case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no release for $(uname -m)" "build it from source: @HOMEPAGE@" ;;
    esac
    case $(uname -s) in
    Linux)
        if ! ls /lib*/ld-linux-* /lib/*-linux-gnu/ld-linux-* >/dev/null 2>&1; then
            fail "this system has no glibc" "run the container image instead: @HOMEPAGE@"
        fi
        echo "$machine-unknown-linux-gnu"
        ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no release for $(uname -s)" "on Windows, run this in WSL" ;;
    esac
}

# fetch NAME FILE: gets a file of the release.
fetch() {
    case $from in
    http://* | https://*)
        if command -v curl >/dev/null; then
            curl -fsSL -o "$2" "$from/$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$2" "$from/$1"
        else
            fail "neither curl nor wget is installed" "install one, or download the release and pass --from DIR"
        fi
        ;;
    *) cp "$from/$1" "$2" ;;
    esac || fail "cannot get $1 from $from" "check the address and the version"
}

sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

# Removes the listed files, and folders that became empty.
remove_listed() {
    while IFS= read -r file; do
        rm -f "$prefix/$file"
        folder=$(dirname "$file")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
            folder=$(dirname "$folder")
        done
    done
}

uninstall() {
    [ -f "$list" ] || fail "nothing was installed in $prefix by this script" "pass the --to of the installation"
    cp "$list" "$work/files"
    echo "${list#"$prefix"/}" >>"$work/files"
    remove_listed <"$work/files"
    rmdir "$prefix" 2>/dev/null || true
    echo "manyhands was removed from $prefix; your data stay in ${MANYHANDS_HOME:-$HOME/.manyhands}"
}

install() {
    name=manyhands-$version-$(target)
    archive=$name.tar.gz
    fetch SHA256SUMS "$work/SHA256SUMS"
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
    [ -n "$wanted" ] || fail "$from has no $archive" "see its SHA256SUMS for what it has"
    fetch "$archive" "$work/$archive"
    if [ "$(sha256 "$work/$archive")" != "$wanted" ]; then
        fail "$archive does not match its checksum; nothing was installed" "download it again; if that does not help, the release was changed"
    fi
    mkdir "$work/unpacked"
    gzip -dc "$work/$archive" | tar -xf - -C "$work/unpacked"
    unpacked=$work/unpacked/$name
    # Tried before anything is replaced.
    "$unpacked/bin/manyhands" --version >/dev/null || fail "the program does not run here; nothing was installed"

    (cd "$unpacked" && find bin share -type f | LC_ALL=C sort) >"$work/files"
    while IFS= read -r file; do
        mkdir -p "$prefix/$(dirname "$file")"
        # Renamed into place, so that a gateway that runs keeps its program.
        cp "$unpacked/$file" "$prefix/$file.new"
        mv -f "$prefix/$file.new" "$prefix/$file"
    done <"$work/files"
    # What an earlier version had and this one has not.
    if [ -f "$list" ]; then
        LC_ALL=C sort "$list" | LC_ALL=C comm -23 - "$work/files" >"$work/gone"
        remove_listed <"$work/gone"
    fi
    mkdir -p "$(dirname "$list")"
    cp "$work/files" "$list"

    echo "$("$prefix/bin/manyhands" --version) is installed in $prefix"
    case ":$PATH:" in
    *":$prefix/bin:"*) echo "start it: manyhands up" ;;
    *)
        echo "start it: $prefix/bin/manyhands up"
        echo "to call it by name, add this to your shell's profile: export PATH=\"$prefix/bin:\$PATH\""
        ;;
    esac
}

# Everything runs from here, so that a script that was cut off on its way does nothing.
main() {
    version=@VERSION@
    from=
    prefix=${HOME:?set HOME}/.local
    action=install
    while [ $# -gt 0 ]; do
        case $1 in
        --from | --version | --to)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
            --from) from=${2%/} ;;
            --version) version=$2 ;;
            --to) prefix=${2%/} ;;
            esac
            shift
            ;;
        --uninstall) action=uninstall ;;
        *) fail "unknown option $1" "known are --from, --version, --to and --uninstall" ;;
        esac
        shift
    done
    [ -n "$from" ] || from=@DOWNLOAD_ANY@
    list=$prefix/share/manyhands/installed-files
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    $action
}

main "$@"
