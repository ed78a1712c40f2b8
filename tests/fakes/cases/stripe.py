"""Operations of Stripe."""

from fakes.cases.base import Case

CASES: tuple[Case, ...] = ()
