"""Operations of Linear."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
