"""Operations of the parcel service."""

from fakes.cases.base import Case, api
from fakes.vendor import Asked, Said

PARCEL = {"number": "HM123456789", "state": "moving", "place": "Basel", "expected": "2026-01-31", "weight_g": 1200}


def answer(asked: Asked) -> Said:
    """What the vendor says who is well."""
    if asked.method == "POST":
        return Said({"pickup": {"id": "pu_7", "reference": asked.json["reference"]}}, status=201)
    if asked.path == "/v2/pickups":
        return Said({"pickups": [{"id": "pu_7", "reference": asked.query["reference"][0]}]})
    if asked.path == "/v2/parcels":
        return Said({"parcels": [PARCEL], "next_page": None if "page" in asked.query else "p2"})
    return Said({"parcel": PARCEL})


CASES: tuple[Case, ...] = (
    api("parcels", "get_parcel", {"number": "HM123456789"}, answer),
    api("parcels", "list_parcels", {"state": "moving"}, answer),
    api("parcels", "book_pickup", {"number": "HM123456789", "date": "2026-01-31"}, answer),
)
