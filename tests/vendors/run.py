"""Run everything that is proved of the vendors' adapters, and write `.run/vendors.json`.

usage: python tests/vendors/run.py [PYTEST OPTION ...]

Ends with 1 when a test failed, when a row of a table is not right, or when an operation of an adapter lacks a proof
that it succeeds, fails, or pages. With options that leave tests out, the file counts the others alone.
"""

import json
import sys
from pathlib import Path
from typing import Any

# With PYTHONSAFEPATH nothing is found beside a script by itself.
sys.path.insert(0, str(Path(__file__).parent.parent))

import pytest
from fakes.clock import FakeClock
from rich.console import Console
from rich.table import Table
from vendors.proofs import Proofs, demanded, operations_of, unknown
from vendors.recording import Recording

from adapters.base import Adapter
from adapters.installed import build_adapters

HERE = Path(__file__).parent
OUT = HERE.parent.parent / ".run" / "vendors.json"


def main(options: list[str]) -> int:
    """The exit code."""
    recording = Recording()
    code = pytest.main([str(HERE), "-q", "-p", "no:cacheprovider", *options], plugins=[recording])
    adapters = {name: adapter for name, adapter in build_adapters(FakeClock()).items() if name != "clock"}
    summary = recording.proofs.summary(adapters)
    write(summary)
    console = Console(width=None if sys.stdout.isatty() else 120)
    is_proved = show(console, summary, recording.proofs, adapters)
    return int(code) or (0 if is_proved else 1)


def write(summary: dict[str, Any]) -> None:
    """The whole file or nothing."""
    OUT.parent.mkdir(exist_ok=True)
    new = OUT.with_suffix(".new")
    new.write_text(json.dumps(summary, indent=1) + "\n")
    new.replace(OUT)


def show(console: Console, summary: dict[str, Any], proofs: Proofs, adapters: dict[str, Adapter]) -> bool:
    """Print it; whether nothing is missing."""
    table = Table("vendor", "operations", "passed", "failed", "server", "description", title="Vendors")
    for vendor, entry in summary["vendors"].items():
        style = "red" if entry["failed"] else ""
        table.add_row(vendor, *(str(value) for value in entry.values()), style=style)
    console.print(table)
    missing = [
        check for name, adapter in adapters.items() for check in proofs.open_checks(name, operations_of(adapter))
    ]
    for vendor, operation, what in missing:
        console.print(f"not proved: {vendor}.{operation} {what}", highlight=False)
    strange = unknown(proofs.checks, adapters)
    for check in strange:
        console.print(f"nobody asks for this proof: {' '.join(check)}", highlight=False)
    rows, right = summary["table_rows"], summary["table_right"]
    total = sum(len(demanded(name, operations_of(adapter))) for name, adapter in adapters.items())
    console.print(f"{total - len(missing)} of {total} checks, {right} of {rows} rows of the tables; written to {OUT}")
    is_whole = all(entry["operations"] for entry in summary["vendors"].values())
    return is_whole and not missing and not strange and rows == right > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
