"""What verification found, for people and for scripts."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import typer
from rich.progress import Progress
from rich.text import Text

from gateway.audit.verify import Bad, Verdict
from gateway.audit.verify_tenant import TenantVerdict
from gateway.cli.terminal import complain, print_json, shown, terminal


@contextlib.contextmanager
def looked_at(path: Path, *, is_shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar of how much was looked at, on a terminal alone; gone at the end."""
    console = terminal(sys.stderr)
    with Progress(console=console, transient=True, disable=not (is_shown and console.is_terminal)) as progress:
        task = progress.add_task("verifying", total=_size_of(path) or None)
        yield lambda more: progress.advance(task, more)


def print_verdict(verdict: Verdict, directory: Path, *, json: bool) -> None:
    """Print it, and end with 0 or 1."""
    # Where every file was taken away nothing contradicts anything, and nothing is verified either.
    is_verified = verdict.ok and verdict.files > 0
    if json:
        print_json(asdict(verdict) | {"ok": is_verified})
    elif is_verified:
        _print_verified(verdict)
    elif verdict.first_bad is None:
        complain(f"there is no audit file in {directory}, so nothing is verified; name the directory of a gateway")
    else:
        _print_bad(verdict.first_bad, verdict.lines)
    raise typer.Exit(0 if is_verified else 1)


def print_tenant_verdict(verdict: TenantVerdict, *, json: bool) -> None:
    """Print it, and end with 0 or 1."""
    is_verified = verdict.ok and verdict.lines > 0
    if json:
        print_json(asdict(verdict) | {"ok": is_verified})
    elif is_verified:
        console = terminal()
        writers = f"{len(verdict.chains)} writer{'' if len(verdict.chains) == 1 else 's'}"
        console.print(Text("verified", style="green"), shown(f"{_lines(verdict.lines)} of {writers}"))
        for chain in verdict.chains:
            console.print(shown(f"  {chain.writer} head {chain.head_seq} {chain.head_hash}"), soft_wrap=True)
            _print_covered(chain.covered_seq, chain.head_seq, " of the tenant's")
    elif verdict.first_bad is None:
        complain("there is no line of this tenant, so nothing is verified")
    else:
        _print_bad(verdict.first_bad, verdict.lines)
    raise typer.Exit(0 if is_verified else 1)


def _print_verified(verdict: Verdict) -> None:
    files = f"{verdict.files} file{'' if verdict.files == 1 else 's'}"
    terminal().print(Text("verified", style="green"), f"{_lines(verdict.lines)} in {files}")
    if verdict.lines:
        terminal().print(shown(f"  head {verdict.head_seq} {verdict.head_hash}"), soft_wrap=True)
        _print_covered(verdict.covered_seq, verdict.head_seq, "")


def _print_covered(covered: int, head: int, whose: str) -> None:
    if not covered:
        words = "Keep the head elsewhere, or name checkpoints by --key: with them, lines cut off the end show, too."
    elif covered >= head:
        words = "A checkpoint was made of the last line: nothing was cut off up to it."
    else:
        words = f"Checkpoints reach up to line {covered}{whose}; what was cut off after it does not show."
    terminal().print(f"  {words}", style="dim", soft_wrap=True)


def _print_bad(bad: Bad, good: int) -> None:
    terminal().print(Text("not as it was written", style="bold red"), shown(bad), soft_wrap=True)
    terminal().print(shown(f"  {_lines(good)} before it {'is' if good == 1 else 'are'} good"))


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _size_of(path: Path) -> int:
    """How many bytes there are to look at; 0 when that cannot be said."""
    try:
        return sum(one.stat().st_size for one in (path.glob("*.jsonl") if path.is_dir() else (path,)))
    except OSError:
        return 0
