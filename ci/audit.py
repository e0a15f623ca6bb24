"""List what is installed here as an SBOM, and look for known vulnerabilities in it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

VULNERABLE, UNREACHABLE = 1, 75  # 75 is EX_TEMPFAIL of sysexits.h
OUTPUT = Path(__file__).parents[1] / "build" / "reports" / "sbom.cdx.json"
# `--skip-editable` leaves out the project itself, which no service knows.
AUDIT = ("pip-audit", "--local", "--skip-editable", "--progress-spinner", "off", "--format", "json")


def component(package: Distribution) -> dict[str, Any]:
    """A package in CycloneDX's format."""
    name, version = canonicalize_name(package.metadata["Name"]), package.version
    purl = f"pkg:pypi/{name}@{version}"
    found = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if "License-Expression" in package.metadata:
        return found | {"licenses": [{"expression": package.metadata["License-Expression"]}]}
    return found


def sbom() -> dict[str, Any]:
    """A CycloneDX document of all packages, sorted by name; the same packages give the same document."""
    packages = {package["purl"]: package for package in map(component, distributions())}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [packages[purl] for purl in sorted(packages)],
    }


def findings(report: dict[str, Any]) -> list[str]:
    """One line for each vulnerability that pip-audit reports."""
    lines = []
    for package in report["dependencies"]:
        for found in package.get("vulns", ()):
            fixed = (
                f"fixed in {', '.join(found['fix_versions'])}" if found["fix_versions"] else "not fixed yet"
            )
            lines.append(f"{package['name']} {package['version']}: {found['id']}, {fixed}")
    return lines


def unknown(report: dict[str, Any]) -> list[str]:
    """The packages that the service does not know, except the project itself, which is editable."""
    skipped = (package for package in report["dependencies"] if "skip_reason" in package)
    return [package["name"] for package in skipped if "editable" not in package["skip_reason"]]


def audit() -> int:
    """Query the advisory service; returns the exit code."""
    done = subprocess.run(AUDIT, capture_output=True, text=True, check=False, encoding="utf-8")
    try:
        report = json.loads(done.stdout)
        lines, missing, number = findings(report), unknown(report), len(report["dependencies"])
    except (ValueError, KeyError, TypeError):
        cause = (done.stderr.strip().splitlines() or ["no words"])[-1]
        message = "The advisory service cannot be reached, so nothing is known about vulnerabilities"
        print(f"{message} ({cause[:200]}): try again with a network.", file=sys.stderr)
        return UNREACHABLE
    for line in lines:
        print(line)
    print(f"{number - len(missing)} packages, {len(lines)} known vulnerabilities.")
    if missing:  # a mirror of the package index has the packages, but not the advisories
        names = ", ".join(missing[:5] + ["…"] * (len(missing) > 5))
        message = f"The advisory service does not know {len(missing)} of {number} packages ({names})"
        print(f"{message}, so nothing is known about them: ask pypi.org itself.", file=sys.stderr)
    return VULNERABLE if lines else UNREACHABLE if missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"Exits {VULNERABLE} if there are any, {UNREACHABLE} if the service does not answer.",
    )
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="file of the SBOM, CycloneDX JSON (%(default)s)"
    )
    output = parser.parse_args().output
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(sbom(), indent=1) + "\n", encoding="utf-8")
    return audit()


if __name__ == "__main__":
    sys.exit(main())
