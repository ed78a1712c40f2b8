"""Operations of Slack."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
