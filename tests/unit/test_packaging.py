"""The wheel holds what an installed gateway needs, and nothing else."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """The wheel, built from this tree without the network."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-P", "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.Path(file)


@pytest.fixture(scope="module")
def names(wheel: zipfile.Path) -> set[str]:
    """Every file in the wheel."""
    return {name for name in wheel.root.namelist() if not name.endswith("/")}


def _tree(folder: str) -> set[str]:
    """Every file of the tree below a folder that belongs to the product."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_both_packages_whole(names: set[str]) -> None:
    """Every file of `gateway` and `adapters`: code, generated stubs, rows, starter files."""
    assert _tree("gateway") | _tree("adapters") <= names
    assert {"gateway/v1/codes_pb2.py", "gateway/v1/tool_service_pb2_grpc.py"} <= names
    assert any(name.startswith("gateway/cli/starter/") for name in names)


def test_the_wheel_holds_the_built_in_policy(names: set[str]) -> None:
    """Where an installed gateway looks for it."""
    policies = {
        f"gateway/policy/default/{PurePosixPath(name).relative_to('policies/base')}" for name in _tree("policies/base")
    }
    assert policies
    assert policies <= names


def test_the_wheel_holds_nothing_else(names: set[str]) -> None:
    """No tests, no proto, no deployment, no byte code, no state of anybody's."""
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gateway", "adapters"}
    assert not [name for name in names if name.endswith((".pyc", ".jsonl", ".sock", ".log"))]
    extra = {name for name in names if name.startswith(("gateway/", "adapters/"))}
    extra -= _tree("gateway") | _tree("adapters")
    assert all(name.startswith("gateway/policy/default/") for name in extra)


def test_the_rows_of_every_adapter_can_be_read_from_the_wheel(wheel: zipfile.Path, names: set[str]) -> None:
    """Each installed adapter brings tools, and they are YAML."""
    files = sorted(name for name in names if name.startswith("adapters/") and name.endswith("/tools.yaml"))
    assert files == sorted(str(path.relative_to(ROOT)) for path in (ROOT / "adapters").glob("*/tools.yaml"))
    assert files
    for name in files:
        rows = yaml.safe_load((wheel / name).read_text("utf-8"))
        assert rows["tools"]


def test_the_wheel_has_the_command_and_the_licence(wheel: zipfile.Path, names: set[str]) -> None:
    """`tollhouse` is its one command."""
    (entry_points,) = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    assert (wheel / entry_points).read_text("utf-8").split() == [
        "[console_scripts]",
        "tollhouse",
        "=",
        "gateway.__main__:main",
    ]
    assert any(name.endswith("/LICENSE") for name in names)


def test_a_gateway_from_the_wheel_finds_its_policy_and_its_rows(wheel: zipfile.Path, tmp_path: Path) -> None:
    """Unpacked somewhere else, without this tree: the built-in pack and every adapter's rows are found."""
    wheel.root.extractall(tmp_path)
    code = (
        "import gateway.app as app, gateway.judging as judging, gateway.settings.load as settings; "
        "from gateway.clock import SystemClock; "
        "adapters = app.install_adapters(settings.default_settings(), SystemClock()); "
        "bring = [one for one in adapters.values() if one.operations]; "
        "print(judging.default_pack().name, len(app.built_in_rows(adapters)) == len(bring) > 0, app.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["default", "True", str(tmp_path / "gateway" / "app.py")]


def test_nobody_else_owns_our_packages(wheel: zipfile.Path, tmp_path: Path) -> None:
    """Another distribution that installs `adapters` would be overwritten, or overwrite us, without a word."""
    wheel.root.extractall(tmp_path)  # an editable install does not say what it owns
    code = "import importlib.metadata as m; d = m.packages_distributions(); print(d['adapters'], d['gateway'])"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "['tollhouse'] ['tollhouse']"


def test_the_tree_is_no_package() -> None:
    """Neither tests nor policies can be imported from an installed gateway."""
    code = "import importlib.util as u; print([n for n in ('tests', 'policies', 'deploy', 'proto') if u.find_spec(n)])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
