"""Makes the signed release of the upgrade tests, with a new key."""

import base64
import gzip
import hashlib
import io
import os
import tarfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HERE = Path(__file__).parent
SCRIPT = b"""#!/bin/sh
# Version 9.9.9, of which everything but its name is the binary beside it.
[ "$1" = --version ] && exec echo "manyhands 9.9.9"
exec "${0%/*}/real" "$@"
"""
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]


def archive() -> bytes:
    """One archive that fits both names: each top folder is there."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for target in TARGETS:
            member = tarfile.TarInfo(f"manyhands-9.9.9-{target}/bin/manyhands")
            member.size = len(SCRIPT)
            member.mode = 0o755
            tar.addfile(member, io.BytesIO(SCRIPT))
    return gzip.compress(packed.getvalue(), mtime=0)


tar = archive()
(HERE / "release.tar.gz").write_bytes(tar)
digest = hashlib.sha256(tar).hexdigest()
sums = "".join(f"{digest}  manyhands-9.9.9-{target}.tar.gz\n" for target in TARGETS).encode()
(HERE / "SHA256SUMS").write_bytes(sums)
key, name = Ed25519PrivateKey.generate(), os.urandom(8)
public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
# The format of minisign: "ED" is a signature of the BLAKE2b-512 hash; the second one covers the trusted comment too.
signature = key.sign(hashlib.blake2b(sums).digest())
comment = "manyhands 9.9.9"
both = key.sign(signature + comment.encode())


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


(HERE / "SHA256SUMS.minisig").write_text(
    f"untrusted comment: signature of a test release\n{encoded(b'ED' + name + signature)}\n"
    f"trusted comment: {comment}\n{encoded(both)}\n"
)
(HERE / "key.pub").write_text(
    f"untrusted comment: public key of a test release\n{encoded(b'Ed' + name + public)}\n"
)
