"""Operations of PostHog."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
