"""What signed checkpoints say of the lines: the hash that each of some lines must have."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.audit.chain import BadLine, Chains, Head
from gateway.audit.checkpoints import Checkpoint, Stand, parse
from gateway.audit.notes import BadNote, VerificationKey, notes_in, signer_of
from gateway.errors import StartError

SUFFIX = ".notes"
FILE_NAME = f"checkpoints{SUFFIX}"
"""Beside the audit files."""

_Place = tuple[str, str | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadCheckpoint:
    """A file of checkpoints that holds one that was changed, or none that can be used."""

    file: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """By writer, tenant and number: the hash, and the number of the checkpoint that says so."""

    hashes: dict[_Place, tuple[str, int]] = field(default_factory=dict)
    checkpoints: int = 0
    bad: BadCheckpoint | None = None

    def check(self, head: Head, value: dict[str, Any]) -> None:
        """The line is the one that was signed, when it was. Raises `BadLine`."""
        if not self.hashes:
            return
        self._check((head.writer, None, head.seq), head.hash)
        if "tenant_seq" in value:
            self._check((head.writer, value["tenant"], value["tenant_seq"]), head.hash)

    def missing_before(self, chains: Chains) -> str:
        """Why the audit should begin earlier than here, where its chains begin; empty when nothing says so."""
        writer, first = chains.head.writer, chains.base + 1
        early = [(seq, tenant) for who, tenant, seq in self.hashes if who == writer and seq < first]
        if not early:
            return ""
        seq, tenant = min(early, key=lambda one: one[0])
        return f"is not where the audit began: a checkpoint was made of {_words(Stand(writer, tenant, seq, ''))}"

    def missing_after(self, chains: Chains) -> str:
        """Why the audit should be longer; empty when nothing says so."""
        ends = {tenant: link.seq for tenant, link in chains.tenants.items()}
        for (writer, tenant, seq), (_hash, number) in self.hashes.items():
            end = chains.head.seq if tenant is None else ends.get(tenant, 0)
            if writer == chains.head.writer and seq > end:
                words = _words(Stand(writer, tenant, seq, ""))
                return f"was cut off here: checkpoint {number} was made of {words}"
        return ""

    def missing_altogether(self) -> str:
        """Why there should be an audit at all."""
        return "is missing: there is a checkpoint of it" if self.hashes else ""

    def covered(self, writer: str) -> int:
        """The last line of this writer that a checkpoint speaks of; 0 when none does."""
        return max((seq for one, tenant, seq in self.hashes if one == writer and tenant is None), default=0)

    def covered_of(self, writer: str, tenant: str) -> tuple[int, int]:
        """The last line of the tenant's own that a checkpoint speaks of, and that checkpoint's number; else zeros."""
        seqs = [place[2] for place in self.hashes if place[:2] == (writer, tenant)]
        return (max(seqs), self.hashes[writer, tenant, max(seqs)][1]) if seqs else (0, 0)

    def writers(self, tenant: str | None = None) -> set[str]:
        """Who wrote for the tenant, as the checkpoints say."""
        return {writer for writer, whose, _seq in self.hashes if whose == tenant}

    def _check(self, place: _Place, digest: str) -> None:
        signed = self.hashes.get(place)
        if signed is not None and signed[0] != digest:
            raise BadLine(
                f"is not the line that checkpoint {signed[1]} was made of: it, or one before it, was replaced"
            )


NONE = Anchors()


def anchors_of(paths: Iterable[Path], keys: tuple[VerificationKey, ...]) -> Anchors:
    """What the checkpoints in these files, and in the `.notes` files of these directories, say that one of the keys
    signed. Raises `StartError` when a path cannot be read.

    None at all is `bad` too: whoever can shorten the audit could have taken them away.
    """
    hashes: dict[_Place, tuple[str, int]] = {}
    found = 0
    for path in _files_of(paths):
        try:
            for checkpoint in checkpoints_in(_read(path), keys):
                found += 1
                _take(hashes, checkpoint)
        except BadNote as error:
            return Anchors(hashes=hashes, checkpoints=found, bad=BadCheckpoint(file=path.name, why=str(error)))
    if not found:
        why = "there is no checkpoint that a key you named has signed"
        return Anchors(bad=BadCheckpoint(file=FILE_NAME, why=why))
    return Anchors(hashes=hashes, checkpoints=found)


def checkpoints_in(content: str, keys: tuple[VerificationKey, ...]) -> Iterator[Checkpoint]:
    """The checkpoints that one of these keys signed. Raises `BadNote` for one that names a key that did not."""
    for index, note in enumerate(notes_in(content), 1):
        try:
            key = signer_of(note, keys)
            checkpoint = parse(note.text, key.name) if key is not None else None
        except BadNote as error:
            raise BadNote(f"checkpoint number {index} in it is not good: {error}") from error
        if checkpoint is not None:
            yield checkpoint


def _take(hashes: dict[_Place, tuple[str, int]], checkpoint: Checkpoint) -> None:
    """Two that were both signed and say two things of one line tell of a writer that forked its own chain."""
    for stand in checkpoint.stands:
        place = stand.writer, stand.tenant, stand.seq
        before = hashes.setdefault(place, (stand.hash, checkpoint.number))
        if before[0] != stand.hash:
            raise BadNote(f"checkpoints {before[1]} and {checkpoint.number} say different things of {_words(stand)}")


def _words(stand: Stand) -> str:
    return f"line {stand.seq} of {stand.writer}" + ("" if stand.tenant is None else f" for {stand.tenant}")


def _files_of(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else (path,)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise StartError(f"the checkpoints in {path} cannot be read: {error.strerror}") from error
