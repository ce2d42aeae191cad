#!/bin/sh
# Compiles the program and packs it into TARGET_FOLDER/dist.
#
#   packaging/dist.sh TARGET_FOLDER
#
# DIST_PROGRAM names a program that is compiled already; DIST_FLAGS=--unportable accepts one that is no release.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
case $(uname -s) in
Darwin) default=$(uname -m | sed s/arm64/aarch64/)-apple-darwin ;;
*) default=$(uname -m)-unknown-linux-gnu ;;
esac
target=${DIST_TARGET:-$default}
program=${DIST_PROGRAM:-$(DIST_TARGET="$target" packaging/portable "$folder")}
export PYTHONPATH=packaging PYTHONDONTWRITEBYTECODE=1
# shellcheck disable=SC2086 # several flags are several words
python3 -m dist build --program "$program" --target "$target" --out "$folder/dist" --cache "$folder/dist-cache" ${DIST_FLAGS:-}
packaging/finish.sh "$folder"
