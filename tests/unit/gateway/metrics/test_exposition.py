"""Exposition: both formats parse, and say the same."""

import os
from pathlib import Path

import pytest
from fakes.lines import line
from fakes.scrapes import OPEN_METRICS, families, scrape

from gateway.metrics.counts import Metrics
from gateway.metrics.exposition import Exposition
from gateway.metrics.families import FAMILIES
from gateway.metrics.gauges import Gauges, Names

PROMETHEUS_ACCEPT = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PAGE = Path(__file__).parents[4] / "docs" / "metrics.md"


def filled() -> Exposition:
    """Some counts, and a gauge."""
    metrics = Metrics(listeners=("agent",))
    metrics.called(line("c1", duration_us=120, steps_us={"policy": 90}), 300)
    return Exposition(metrics, Gauges(is_ready=lambda: True), Names())


def body(exposition: Exposition, accept: str) -> str:
    """All pieces, without what the process itself consumes: that changes from one look to the next."""
    text = b"".join(exposition.pieces(accept)).decode()
    return "".join(each for each in text.splitlines(keepends=True) if "process_" not in each)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
        (PROMETHEUS_ACCEPT, "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores"),
        (
            "Application/OpenMetrics-Text",
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
        ),
    ],
)
def test_the_reader_gets_the_format_that_it_asks_for(accept: str, content_type: str) -> None:
    """And the body parses as what its content type says."""
    exposition = filled()
    assert exposition.content_type(accept) == content_type
    assert families(body(exposition, accept), is_open="openmetrics" in content_type)


def test_both_formats_hold_the_same_samples() -> None:
    """Name by name, label by label, value by value."""
    exposition = filled()
    text, opened = (
        {key: value for key, value in scrape(exposition, accept=accept).samples.items() if key[0][:8] != "process_"}
        for accept in ("", OPEN_METRICS)
    )
    assert text == opened


def test_the_pieces_of_open_metrics_end_once() -> None:
    """# EOF is the last line and no other: a reader refuses what comes after it."""
    text = body(filled(), OPEN_METRICS)
    assert text.endswith("# EOF\n")
    assert text.count("# EOF") == 1
    assert "# EOF" not in body(filled(), "")


@pytest.mark.parametrize(
    "accept", [f"{OPEN_METRICS}; version=9.9.9-evil", f"{OPEN_METRICS}; version=x", "q" * 5000, ",;=,"]
)
def test_nothing_of_an_odd_accept_is_sent_back(accept: str) -> None:
    """The version that is named is the one that is sent, whatever was asked for."""
    content_type = filled().content_type(accept)
    assert content_type.split(";")[1].strip() in {"version=1.0.0", "version=0.0.4"}
    assert "evil" not in content_type


def test_what_is_counted_between_two_pieces_is_in_the_next_scrape() -> None:
    """One scrape is one moment: the counter and its histogram agree though the loop went on meanwhile."""
    metrics = Metrics()
    exposition = Exposition(metrics, Gauges(), Names())
    pieces = []
    for piece in exposition.pieces():
        pieces.append(piece)
        metrics.called(line("c1", duration_us=5))
    text = b"".join(pieces).decode()
    assert 'tollhouse_call_duration_seconds_count{kind="call",outcome="ok"} 0.0' in text
    assert scrape(exposition).total("tollhouse_call_duration_seconds_count") == len(pieces)


def test_every_metric_is_described_as_it_is_listed() -> None:
    """Type and help of what is shown are those of the page."""
    text = body(filled(), "")
    by_name = {each.name: each for each in FAMILIES}
    shown = [each.split(" ", 3)[2:] for each in text.splitlines() if each.startswith("# HELP")]
    assert shown
    for name, words in shown:
        assert by_name[name].help == words
        assert f"# TYPE {name} {by_name[name].type.value.replace('info', 'gauge')}\n" in text


def test_the_process_is_measured_and_on_the_page() -> None:
    """What the kernel says of this process, by the names that every Prometheus client uses."""
    seen = scrape(filled())
    names = {name for name, _ in seen.samples if name.startswith("process_")}
    assert {"process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"} <= names
    page = PAGE.read_text()
    assert all(f"`{name}`" in page for name in names)


def test_a_kernel_that_says_nothing_of_the_process_costs_no_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails there is counted like any other part."""

    def refuse(_path: str) -> list[str]:
        raise RuntimeError

    exposition = filled()
    monkeypatch.setattr(os, "listdir", refuse)
    assert scrape(exposition).value("tollhouse_ready") == 1
    assert scrape(exposition).value("tollhouse_scrape_errors_total", part="process") == 2
