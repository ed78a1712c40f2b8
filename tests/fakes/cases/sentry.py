"""Operations of Sentry."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
