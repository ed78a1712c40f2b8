"""Generate `gateway/v1` from `proto/`, or with --check say whether it is what generating gives.

usage: python proto/generate.py [--check]
"""

import importlib.resources
import pathlib
import sys
import tempfile

from grpc_tools import protoc

PROTO = pathlib.Path(__file__).parent
ROOT = PROTO.parent
PACKAGE = "gateway/v1"


def generate(target: pathlib.Path) -> dict[str, bytes]:
    """The generated files by name, written below `target`."""
    sources = sorted(str(path.relative_to(PROTO)) for path in (PROTO / PACKAGE).glob("*.proto"))
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    arguments = ["", f"-I{PROTO}", f"-I{well_known}", f"--python_out={target}", f"--pyi_out={target}"]
    status = protoc.main([*arguments, f"--grpc_python_out={target}", *sources])
    if status != 0:
        sys.exit("protoc failed; its messages are above")
    return {path.name: path.read_bytes() for path in (target / PACKAGE).iterdir() if _is_wanted(path)}


def _is_wanted(path: pathlib.Path) -> bool:
    return path.is_file() and path.name != "codes_pb2_grpc.py"


def main() -> None:
    """Write the files, or compare them."""
    home = ROOT / PACKAGE
    with tempfile.TemporaryDirectory() as scratch:
        fresh = generate(pathlib.Path(scratch))
    if "--check" in sys.argv:
        there = {path.name: path.read_bytes() for path in home.glob("*_pb2*")}
        differing = sorted(name for name in fresh.keys() | there.keys() if fresh.get(name) != there.get(name))
        if differing:
            sys.exit(f"not what `make proto` gives: {', '.join(differing)}")
        return
    for stale in home.glob("*_pb2*"):
        stale.unlink()
    for name, content in fresh.items():
        (home / name).write_bytes(content)


if __name__ == "__main__":
    main()
