"""Operations of Google Calendar."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
