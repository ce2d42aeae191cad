#!/bin/sh
# Writes installers, checksums and their signature for what lies in TARGET_FOLDER/dist: the packages of one platform
# after `make dist`, or of all platforms after they were collected there.
#
#   packaging/finish.sh TARGET_FOLDER
#
# MANYHANDS_SIGNING_KEY names a minisign secret key without a password; without it nothing is signed.
set -eu
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")"
PYTHONDONTWRITEBYTECODE=1 python3 -m dist finish --out "$folder/dist"
