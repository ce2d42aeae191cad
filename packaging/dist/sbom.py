"""The bill of materials, as CycloneDX 1.5."""

import json
import uuid
from datetime import datetime, timezone

from .crates import Part, is_ours
from .release import Release


def component(part: Part) -> dict:
    found = {
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        "version": part.version,
        "scope": "required",
        "licenses": [{"expression": part.licence}],
        "purl": part.purl,
    }
    if part.checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": part.checksum}]
    if part.homepage:
        found["externalReferences"] = [{"type": "vcs", "url": part.homepage}]
    return found


def document(release: Release, crates: list[Part], page: list[Part]) -> bytes:
    """One document for the program with its page."""
    program = f"pkg:cargo/manyhands@{release.version}"
    listed = [part for part in crates if part.name != "manyhands"] + page
    time = datetime.fromtimestamp(release.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    known = {part.purl for part in listed}
    uses = {part.purl: list(part.uses) for part in crates + page}
    # The page is a crate of ours, but its packages are npm's.
    for part in crates:
        if is_ours(part) and part.name == "manyhands-page":
            uses[part.purl] = sorted({*part.uses, *(one.purl for one in page)})
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same release has the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{release.commit}/{release.stem}')}",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {
                "type": "application",
                "bom-ref": program,
                "name": "manyhands",
                "version": release.version,
                "licenses": [{"license": {"id": release.about["license"]}}],
                "purl": program,
                "properties": [{"name": "commit", "value": release.commit}, {"name": "target", "value": release.target}],
            },
        },
        "components": [component(part) for part in listed],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(set(used) & known)} for ref, used in sorted(uses.items()) if ref in known or ref == program
        ],
    }
    return (json.dumps(document, indent=1) + "\n").encode()
