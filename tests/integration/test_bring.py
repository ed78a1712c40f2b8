"""OPA is brought from where it is, and what cannot be brought is said in a sentence."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BRING = Path(__file__).parent.parent / "real" / "bring.py"
OPA = "#!/bin/sh\necho Version: 1.22.3\n"
GO = """#!/bin/sh
[ "$1" = version ] && { echo "go version go1.27.3 linux/amd64"; exit 0; }
[ -e "$GOBIN/opa" ] && { echo "already there" >&2; exit 1; }
/bin/mkdir -p "${GOCACHE:-$HOME/.cache}" || exit 1
printf '#!/bin/sh\\necho Version: 1.22.3\\n' > "$GOBIN/opa"
/bin/chmod 755 "$GOBIN/opa"
"""
OLD = "#!/bin/sh\necho Version: 0.70.0\n"


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def _bring(folder: Path, *options: str, home: str | None = None) -> subprocess.CompletedProcess[str]:
    """Into `bin`, with a PATH of one folder whose name has a space, and nothing else."""
    environment = {"PATH": str(folder / "on path"), "HOME": home or str(folder)}
    command = [sys.executable, BRING, folder / "bin" / "opa", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def _version(binary: Path) -> str:
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("home", [None, "/proc/none"])
def test_it_is_built_by_the_machines_go(tmp_path: Path, home: str | None) -> None:
    """Also without a home that could be written to."""
    _script(tmp_path / "on path" / "go", GO)
    (tmp_path / "bin").mkdir()
    brought = _bring(tmp_path, home=home)
    assert brought.returncode == 0, brought.stderr
    assert "1.22.3" in _version(tmp_path / "bin" / "opa")


def test_what_is_too_old_is_replaced_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    """The link is ours, the file is not."""
    _script(tmp_path / "on path" / "go", GO)
    old = _script(tmp_path / "on path" / "opa", OLD)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opa").symlink_to(old)
    assert _bring(tmp_path).returncode == 0
    assert "1.22.3" in _version(tmp_path / "bin" / "opa")
    assert old.read_text() == OLD


def test_one_on_path_is_linked_and_one_that_is_there_is_kept(tmp_path: Path) -> None:
    """Nothing is built."""
    found = _script(tmp_path / "on path" / "opa", OPA)
    (tmp_path / "bin").mkdir()
    for _ in range(2):
        assert _bring(tmp_path).returncode == 0
        assert (tmp_path / "bin" / "opa").readlink() == found


@pytest.mark.parametrize("options", [(), ("--optional",)])
def test_what_cannot_be_brought_is_a_sentence(tmp_path: Path, options: tuple[str, ...]) -> None:
    """And no failure when it is optional."""
    _script(tmp_path / "on path" / "go", "#!/bin/sh\necho go version go1.26; [ $1 = version ]\n")
    (tmp_path / "bin").mkdir()
    told = _bring(tmp_path, *options)
    assert (told.returncode, "put opa 1.9 or newer, or Go 1.25 or newer, on PATH" in told.stdout + told.stderr) == (
        0 if options else 1,
        True,
    )
    assert "Traceback" not in told.stderr


@pytest.fixture
def module() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("bring", BRING)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_without_go_the_package_is_fetched(tmp_path: Path, module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a virtual environment that is gone afterwards."""
    seen: list[Path] = []

    def create(folder: str, *, with_pip: bool) -> None:
        assert with_pip
        seen.append(Path(folder))
        wanted = f"-m pip install --quiet --disable-pip-version-check {module.GO_PACKAGE}"
        pip = f"#!/bin/sh\n[ \"$*\" = '{wanted}' ] || exit 1\n"
        _script(Path(folder, "bin", "python"), f"{pip}/bin/cp '{tmp_path}/go' \"${{0%/*}}/go\"\n")

    _script(tmp_path / "go", GO)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "on path"))
    monkeypatch.setattr(module.venv, "create", create)
    module.bring(tmp_path / "bin" / "opa")
    assert "1.22.3" in _version(tmp_path / "bin" / "opa")
    assert not os.path.lexists(seen[0])
