"""Operations of GitHub."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
