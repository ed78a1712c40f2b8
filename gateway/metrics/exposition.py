"""Counts and gauges as Prometheus reads them. The one home of `prometheus_client`."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from prometheus_client import ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from gateway.metrics.counts import Metrics
from gateway.metrics.family import Distribution, Family, Reading, Type
from gateway.metrics.gauges import Gauges, Names, read

OPEN_METRICS = "application/openmetrics-text"
_END = b"# EOF\n"
MAX_ACCEPT = 1024
"""The longest `Accept` that is looked at, in characters."""


class Exposition:
    """What a scrape shows."""

    def __init__(self, metrics: Metrics, gauges: Gauges, names: Names) -> None:
        self._metrics = metrics
        self._gauges = gauges
        self._names = names
        self._process = ProcessCollector(registry=None)

    def pieces(self, accept: str = "") -> Iterator[bytes]:
        """Everything as it is at the first step, metric by metric: the whole takes milliseconds, which others on the
        loop should not have to wait for.
        """
        encode, _ = _encoder(accept)
        for metric in self._snapshot():
            yield encode(_Only(metric)).removesuffix(_END)
        if _wants_open_metrics(accept):
            yield _END

    @staticmethod
    def content_type(accept: str = "") -> str:
        """What the pieces are: OpenMetrics 1.0 for who asks for it, otherwise the text format."""
        return _encoder(accept)[1]

    def _snapshot(self) -> Iterator[Metric]:
        # The gauges first: what fails among them is counted in this very scrape.
        gauges = list(read(self._gauges, self._names, self._metrics.scrape_failed))
        process = self._of_process()
        for reading in (*gauges, *self._metrics.read()):
            yield _metric(reading)
        yield from process

    def _of_process(self) -> list[Metric]:
        try:
            return list(self._process.collect())
        except Exception:  # noqa: BLE001 - /proc is not ours, and is not what a scrape is for
            self._metrics.scrape_failed("process")
            return []


class _Only(Collector):
    """One metric, for the library's encoders."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        """It."""
        return (self._metric,)


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    return choose_encoder(f"{OPEN_METRICS}; version=1.0.0" if _wants_open_metrics(accept) else "")


def _wants_open_metrics(accept: str) -> bool:
    """Nothing else of the header counts: the library would send the version that it names back to its sender."""
    kinds = (each.partition(";")[0].strip().lower() for each in accept[:MAX_ACCEPT].split(","))
    return OPEN_METRICS in kinds


def _metric(reading: Reading) -> Metric:
    family, samples = reading
    metric = _empty(family)
    for labels, value in samples:
        if isinstance(metric, HistogramMetricFamily):
            assert isinstance(value, Distribution)
            metric.add_metric(labels, _buckets(value), value.total)
        elif isinstance(metric, InfoMetricFamily):
            metric.add_metric((), dict(zip(family.labels, labels, strict=True)))
        else:
            assert isinstance(value, int | float)
            metric.add_metric(labels, value)
    return metric


_Families = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily | InfoMetricFamily


def _empty(family: Family) -> _Families:
    match family.type:
        case Type.COUNTER:
            return CounterMetricFamily(family.name, family.help, labels=family.labels)
        case Type.GAUGE:
            return GaugeMetricFamily(family.name, family.help, labels=family.labels)
        case Type.HISTOGRAM:
            return HistogramMetricFamily(family.name, family.help, labels=family.labels)
        case Type.INFO:
            return InfoMetricFamily(family.name.removesuffix("_info"), family.help)
        case _:
            assert_never(family.type)


def _buckets(distribution: Distribution) -> list[tuple[str, float]]:
    """Each bound as text, and how many are not beyond it."""
    buckets, below = [], 0
    for bound, count in zip((*distribution.bounds, math.inf), distribution.counts, strict=True):
        below += count
        buckets.append(("+Inf" if bound == math.inf else repr(bound), float(below)))
    return buckets
