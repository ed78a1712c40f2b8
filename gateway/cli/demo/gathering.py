"""Gathering what a scene left behind into a record: audit lines, files, and whether a secret is in any of them."""

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.audit.anchors import anchors_of
from gateway.audit.notes import VerificationKey
from gateway.audit.reading import tail
from gateway.audit.verify import verify
from gateway.cli.demo.project import Project
from gateway.cli.demo.scene import Seen
from gateway.cli.demo.search import files_below, search
from gateway.cli.demo.servers import Mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A secret that must be nowhere but where it is kept."""

    forms: Mapping[str, bytes] = field(repr=False)
    """As bytes, by the encoding's name."""
    kept: bytes = field(repr=False)
    """What OpenBao says where it is kept: the search must find it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a scene left behind, before it is looked at."""

    project: Project
    says: tuple[tuple[str, str], ...]
    mailbox: Sequence[Mail] = field(repr=False)
    key: VerificationKey
    """Whose checkpoints count."""
    sought: Sequence[Sought]
    engine: str
    """What should have decided."""


def gathered(left: Left, seen: Seen, written: Mapping[str, bytes]) -> dict[str, Any]:
    """The fields of a `Record`. `written` is in the files now; what was in them earlier is in `seen`."""
    project = left.project
    verdict = verify(project.audit, anchors_of([project.checkpoints], (left.key,)))
    words = f"{verdict.lines} lines, head {verdict.head_hash[:19]}…" if verdict.ok else str(verdict.first_bad)
    found = [hit for one in left.sought for files in (seen.written, written) for hit in search(files, one.forms)]
    controls = [len(search({"OpenBao": one.kept}, one.forms)) for one in left.sought]
    return {
        "says": left.says,
        "tools": seen.tools,
        "answers": tuple(seen.answers),
        "typed": tuple(seen.typed),
        "done_before": seen.done_before,
        "control_mode": stat.S_IMODE(project.control.parent.stat().st_mode),
        "agent_exit": seen.agent_exit,
        "mailbox": tuple(left.mailbox),
        "lines": tuple(line.value for line in tail(project.audit) if line.value is not None),
        "chain_verified": verdict.ok and verdict.files > 0,
        "chain_words": words,
        "uncovered": verdict.head_seq - verdict.covered_seq,
        "secret_hits": tuple(sorted(set(found))),
        "searched": frozenset(seen.written) | frozenset(written),
        "control_hits": sum(controls) if all(controls) else 0,
        "engine": left.engine,
        "gateway_exit": seen.gateway_exits[-1],
    }


def written_in(project: Project) -> dict[str, bytes]:
    """Every file of the project, by its name in it: what the gateway, the agent and all servers wrote."""
    files = files_below([project.root])
    return {str(Path(path).relative_to(project.root)): text for path, text in files.items()}
