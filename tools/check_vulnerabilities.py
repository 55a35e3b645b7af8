"""Compare the distributions in an environment with the known vulnerabilities, and fail where that was not possible.

    python tools/check_vulnerabilities.py .venv-deps

pip-audit asks the vulnerability service. By itself it passes over a distribution that the service does not know, and
succeeds; here the answer is one of three: no known vulnerability in any of them (status 0), vulnerabilities (1), or not
checked (2).
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

#: What is not a dependency: we ourselves, and what every environment begins with.
NOT_DEPENDENCIES = {"kernelwise", "pip", "setuptools", "wheel"}
SECONDS = 600


def ask(site_packages: Path) -> list[dict[str, Any]]:
    """What pip-audit says about every distribution in a folder.

    Raises
    ------
    RuntimeError
        If it says nothing, because no service could be reached.
    """
    command = [sys.executable, "-m", "pip_audit", "--path", str(site_packages), "--format", "json"]
    options = ["--progress-spinner", "off", "--timeout", "30"]
    try:
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=SECONDS, check=False)
        return json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"no answer in {SECONDS} seconds") from error
    except (ValueError, KeyError) as error:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no answer"])[-1]) from error


def report(dependencies: list[dict[str, Any]]) -> int:
    """Print what is known and what is not, and return the exit status."""
    others = [item for item in dependencies if item["name"] not in NOT_DEPENDENCIES]
    unchecked = [item for item in others if "skip_reason" in item]
    vulnerable = [item for item in others if item.get("vulns")]
    for item in vulnerable:
        for flaw in item["vulns"]:
            fixed = ", ".join(flaw["fix_versions"]) or "nowhere yet"
            print(f"{item['name']} {item['version']}: {flaw['id']}, fixed in {fixed}")
    if vulnerable:
        print(f"VULNERABLE: {len(vulnerable)} of {len(others)} distributions")
        return 1
    if unchecked or not others:
        names = ", ".join(item["name"] for item in unchecked)
        print(f"NOT CHECKED, since the service knows nothing of them: {len(unchecked)} of {len(others)}: {names}")
        return 2
    print(f"{len(others)} distributions without a known vulnerability")
    return 0


def main(arguments: list[str]) -> int:
    """Check the environment named in the arguments and return the exit status."""
    (environment,) = arguments
    folders = sorted(Path(environment).glob("lib/python*/site-packages"))
    if len(folders) != 1:
        print(f"NOT CHECKED: {environment} is no virtual environment")
        return 2
    try:
        return report(ask(folders[0]))
    except RuntimeError as error:
        print(f"NOT CHECKED: the vulnerability service could not be asked: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
