"""What the report claims, each with what was measured and whether it holds."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from uncubed.experiments import analysis
from uncubed.experiments.config import methods
from uncubed.experiments.figures import Groups
from uncubed.experiments.runner import ACQUISITIONS, Row
from uncubed.experiments.tables import printed


class Claim(NamedTuple):
    """A statement, what was found, and whether that agrees."""

    statement: str
    found: str
    holds: bool


PUBLISHED_ORDERS = {"example-T200": 13, "rosenbrock-raw-T100": 8}
LONG = {"example-T1000": "example, T = 1,000", "rosenbrock-T1000": "Rosenbrock standardised, T = 1,000"}


def claims(groups: Groups) -> Iterator[Claim]:
    """Those for which there are runs, all with UCB unless they say otherwise."""
    for setting, published in PUBLISHED_ORDERS.items():
        if rows := groups.get((setting, "ucb", "absolute")):
            yield _published_order(setting, published, rows)
    if kept := [row for (_, _, method), rows in groups.items() if method == "relative" for row in rows]:
        yield _keeps_everything(kept)
    for setting, name in LONG.items():
        yield from _against_dense(setting, name, groups)
    for setting in ("logistic-digits", "logistic-mnist"):
        yield from _clock(setting, groups)


def _published_order(setting: str, published: int, rows: Sequence[Row]) -> Claim:
    orders = analysis.column(rows, "model_order")
    found = f"{min(orders):.0f} to {max(orders):.0f} over seeds, mean {sum(orders) / len(orders):.1f}"
    statement = f"{setting}: the absolute rule ε = 1e-4 gives the published model order {published}"
    return Claim(statement, found, min(orders) <= published <= max(orders))


def _keeps_everything(rows: Sequence[Row]) -> Claim:
    refused = [row for row in rows if row["model_order"] != row["horizon"] + row["initial"]]
    found = f"{len(refused)} of {len(rows)} runs refused anything (all acquisitions)"
    return Claim("the relative rule ε = 1e-4 keeps every observation", found, not refused)


def _against_dense(setting: str, name: str, groups: Groups) -> Iterator[Claim]:
    dense = groups.get((setting, "ucb", "dense"))
    limits = {"schedule": ("compressed, α = 1/(2p)", 1.3, 10), "projected": ("projected", 1.1, 15)}
    for method, (label, regret_limit, share) in limits.items():
        rows = groups.get((setting, "ucb", method))
        if not rows or not dense:
            continue
        regret, order, evaluations = (
            _ratio_of_means(rows, dense, of) for of in ("mean_average_regret", "model_order", "evaluations")
        )
        statement = f"{name}, {label}: at most {regret_limit} × the dense regret with a model 1/{share} of dense"
        found = f"{regret:.2f} × the regret, 1/{1 / order:.0f} of the model order, {evaluations:.0%} of the evaluations"
        holds = regret <= regret_limit and order <= 1 / share
        if method == "schedule":
            statement += " and 1/10 of its evaluations"
            holds = holds and evaluations <= 0.1
        yield Claim(statement, found, holds)


def _clock(setting: str, groups: Groups) -> Iterator[Claim]:
    for acquisition, times in printed()["logistic-mnist"]["clock"].items():
        mark = times["compressed"] / times["dense"]
        for method in ("schedule", "absolute"):
            dense, rows = (groups.get((setting, acquisition, name)) for name in ("dense-unmerged", method))
            if dense and rows:
                ours = _total(rows) / _total(dense)
                what = f"{setting}, {ACQUISITIONS[acquisition]}, {methods()[method].label}"
                found = f"{ours:.0%} of dense, training included"
                yield Claim(f"{what}: less than the printed {mark:.0%} of the dense clock time", found, ours < mark)


def _ratio_of_means(rows: Sequence[Row], reference: Sequence[Row], name: str) -> float:
    mine, theirs = (sum(analysis.column(some, name)) / len(some) for some in (rows, reference))
    return mine / theirs


def _total(rows: Sequence[Row]) -> float:
    return sum(map(analysis.total_seconds, rows)) / len(rows)
