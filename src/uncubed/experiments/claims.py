"""What the report claims, each with what was measured and whether it holds."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
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


LONG = {"example-T1000": "example, T = 1,000", "rosenbrock-T1000": "Rosenbrock standardised, T = 1,000"}
LIMITS = {"schedule": (1.3, 10, 0.1), "projected": (1.1, 15, 1.0)}
"""Most regret over dense, least reduction of the model order, most evaluations over dense."""


def claims(groups: Groups) -> Iterator[Claim]:
    """Those for which there are runs, all with UCB unless they say otherwise."""
    for setting in ("example-T200", "rosenbrock-raw-T100"):
        if rows := groups.get((setting, "ucb", "absolute")):
            yield _published_order(setting, printed()[setting]["model_order"]["compressed"], rows)
    if kept := [row for (_, _, method), rows in groups.items() if method == "relative" for row in rows]:
        yield _keeps_everything(kept)
    for setting, name in LONG.items():
        yield from _against_dense(setting, name, groups)
    for setting in ("logistic-digits", "logistic-mnist"):
        yield from _clock(setting, groups)


def _published_order(setting: str, published: int, rows: Sequence[Row]) -> Claim:
    orders = analysis.column(rows, "model_order")
    found = f"{min(orders):.0f} to {max(orders):.0f} over {len(rows)} seeds, mean {sum(orders) / len(orders):.1f}"
    statement = f"{setting}: the published model order {published} is one that the absolute rule ε = 1e-4 gives"
    return Claim(
        statement, f"{found} (holds: within the 95 % prediction interval)", analysis.predicts(orders, published)
    )


def _keeps_everything(rows: Sequence[Row]) -> Claim:
    refused = [row for row in rows if row["model_order"] != row["horizon"] + row["initial"]]
    found = f"{len(refused)} of {len(rows)} runs refused anything (all acquisitions)"
    return Claim("the relative rule ε = 1e-4 keeps every observation", found, not refused)


def _against_dense(setting: str, name: str, groups: Groups) -> Iterator[Claim]:
    dense = groups.get((setting, "ucb", "dense"))
    for method, (most_regret, reduction, most_evaluations) in LIMITS.items():
        rows = groups.get((setting, "ucb", method))
        if rows and dense:
            regret, order, evaluations = (
                analysis.ratio(rows, dense, itemgetter(column))
                for column in ("mean_average_regret", "model_order", "evaluations")
            )
            most = f"at most {most_regret} × the dense regret, 1/{reduction} of its model order"
            most += f", {most_evaluations:.0%} of its evaluations" if most_evaluations < 1 else ""
            yield Claim(
                f"{name}, {methods()[method].label}: {most}",
                f"{regret.mean:.2f} × the regret ({regret.low:.2f} to {regret.high:.2f}), 1/{1 / order.mean:.0f} of "
                f"the model order, {evaluations.mean:.1%} of the evaluations; {_rows(rows)} rows stored, dense with "
                f"repeats merged {_rows(dense)}",
                regret.mean <= most_regret and order.mean <= 1 / reduction and evaluations.mean <= most_evaluations,
            )


def _rows(rows: Sequence[Row]) -> str:
    return f"{sum(analysis.column(rows, 'distinct')) / len(rows):.0f}"


def _clock(setting: str, groups: Groups) -> Iterator[Claim]:
    for acquisition, times in printed()["logistic-mnist"]["clock"].items():
        mark = times["compressed"] / times["dense"]
        for method in ("schedule", "absolute"):
            dense, rows = (groups.get((setting, acquisition, name)) for name in ("dense-unmerged", method))
            if dense and rows:
                ours = analysis.ratio(rows, dense, analysis.total_seconds)
                regret = analysis.ratio(rows, dense, analysis.cumulative_regret)
                what = f"{setting}, {ACQUISITIONS[acquisition]}, {methods()[method].label}"
                yield Claim(
                    f"{what}: less of the dense clock time, training included, than the {mark:.0%} printed for MNIST",
                    f"{ours.mean:.0%} ({ours.low:.0%} to {ours.high:.0%}), at {regret.mean:.2f} × its regret",
                    ours.mean < mark,
                )
