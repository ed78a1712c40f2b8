"""Checkers run in a Python of their own: what they need must not come between us and what we depend on."""

import json
import subprocess
from pathlib import Path
from typing import Any

from real.packages import python_command, python_packages

_SECONDS = 120


def answered(checker: Path, given: dict[str, Any]) -> list[list[str]]:
    """What the checker says of each of the given requests."""
    command, environment = python_command(python_packages("descriptions"), str(checker))
    done = subprocess.run(
        command,
        input=json.dumps(given),
        env=dict(environment),
        check=False,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[list[str]] = json.loads(done.stdout)
    return found
