"""What a metric is."""

from gateway.metrics.family import Family, Type, one


def test_a_metric_without_labels_has_one_value() -> None:
    """A truth is 1 or 0, as readers expect."""
    family = Family("tollhouse_x", Type.GAUGE, (), "X.")
    assert one(family, value=True) == (family, [((), 1.0)])
