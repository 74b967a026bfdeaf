"""Does ``assay check`` find the faults that released Quantus metrics have? ``make check-quantus`` calls this.

    python tests/quantus/run.py FOLDER

FOLDER holds the environments, ``quantus-numpy23`` and ``quantus-numpy24``. Every fault of targets.toml is told as found
or not found; the exit code is 1 when one is not found.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGETS = Path(__file__).with_name("targets.toml")


def certificate(folder: Path, target: dict[str, Any]) -> dict[str, Any]:
    """What the check says about a target."""
    command = folder / f"quantus-{target['where']}" / "bin" / "assay"
    call = [str(command), "check", target["check"], *target.get("options", []), "--json"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(call)}\nstopped with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def found(told: dict[str, Any], fault: dict[str, str]) -> dict[str, str] | None:
    """The fault among those of the certificate, or None."""
    contract = next(part for part in told["contracts"] if part["contract"] == fault["contract"])
    for one in contract["faults"]:
        if re.search(fault["message"], one["message"]) and re.search(fault.get("witness", ""), one["witness"]):
            return one
    return None


def main() -> None:
    folder, missing = Path(sys.argv[1]).resolve(), 0
    for target in tomllib.loads(TARGETS.read_text(encoding="utf-8"))["target"]:
        told = certificate(folder, target)
        expected = [(fault, found(told, fault)) for fault in target["fault"]]
        kept = [part["contract"] for part in told["contracts"] if part["status"] == "pass"]
        package = told["package"]
        print(f"\n{target['check']}  [{package['name']} {package['version']}, {target['where']}]")
        for fault, one in expected:
            missing += one is None
            print(f"  {'found    ' if one else 'NOT FOUND'}  {fault['what']} ({fault['contract']})")
            if one:
                print(f"             {one['message']}\n             {one['witness']}")
        listed = [one for _, one in expected]
        others = [one for part in told["contracts"] for one in part["faults"] if one not in listed]
        for one in others:
            print(f"  also       {one['contract']}: {one['message']}")
        print(f"  passes     {', '.join(kept) or 'nothing'}")
    print(f"\n{missing} of the listed faults were not found." if missing else "\nEvery listed fault was found.")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
