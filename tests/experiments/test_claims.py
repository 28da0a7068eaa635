from collections.abc import Iterable
from typing import Any

import pytest

from tests.experiments.test_analysis import every_row, made
from uncubed.experiments.claims import Claim, claims
from uncubed.experiments.config import EXPERIMENTS, settings
from uncubed.experiments.results import group
from uncubed.experiments.runner import Row

SETTINGS = {setting.name: setting for name in EXPERIMENTS for setting in settings(name)}
LONG = ["example-T1000", "rosenbrock-T1000"]


def only(rows: Iterable[Row]) -> Claim:
    (claim,) = claims(group(rows))
    return claim


def two(setting: str, method: str, acquisition: str = "ucb", **known: Any) -> list[Row]:
    return [made(SETTINGS[setting], acquisition, method, seed, **known) for seed in range(2)]


def test_without_runs_nothing_is_claimed() -> None:
    assert not list(claims({}))


def test_all_runs_give_every_claim_once() -> None:
    rows = [row for setting in SETTINGS.values() for row in every_row(setting)]
    statements = [claim.statement for claim in claims(group(rows))]
    assert len(set(statements)) == len(statements) == 2 + 1 + 2 * 2 + 2 * 3 * 2


# The published model orders

PUBLISHED = pytest.mark.parametrize(("setting", "order"), [("example-T200", 13), ("rosenbrock-raw-T100", 8)])


@PUBLISHED
def test_the_published_order_is_that_of_the_absolute_rule(setting: str, order: int) -> None:
    claim = only(two(setting, "absolute", model_order=order))
    assert claim.holds
    assert setting in claim.statement
    assert str(order) in claim.statement
    assert str(order) in claim.found


@PUBLISHED
@pytest.mark.parametrize("times", [0.5, 2.0, 10.0])
def test_another_order_is_not_the_published_one(setting: str, order: int, times: float) -> None:
    found = round(order * times)
    claim = only(two(setting, "absolute", model_order=found))
    assert not claim.holds
    assert str(found) in claim.found


def test_orders_of_other_acquisitions_are_not_judged() -> None:
    assert not list(claims(group(two("example-T200", "absolute", "ei", model_order=13))))


# The relative rule


def test_the_relative_rule_keeps_everything_or_does_not() -> None:
    whole = two("example-T200", "relative") + two("rosenbrock-T1000", "relative", "mpi")
    claim = only(whole)
    assert claim.holds
    assert "0 of 4" in claim.found
    refused = made(SETTINGS["example-T1000"], "ei", "relative", model_order=1001)
    claim = only([*whole, refused])
    assert not claim.holds
    assert "1 of 5" in claim.found


# Against dense


def with_ratios(setting: str, method: str, ratios: tuple[float, float, float]) -> list[Row]:
    """With these regrets, model orders and evaluations, of those of dense."""
    regret, order, evaluations = ratios
    sizes: dict[str, Any] = {"model_order": 1000 * order, "evaluations": 1000 * evaluations}
    return two(setting, method, mean_average_regret=0.2 * regret, **sizes)


@pytest.mark.parametrize("setting", LONG)
@pytest.mark.parametrize(
    ("method", "ratios", "holds"),
    [
        ("schedule", (1.2, 0.05, 0.05), True),
        ("schedule", (0.5, 0.01, 0.01), True),
        ("schedule", (1.4, 0.05, 0.05), False),
        ("schedule", (1.2, 0.2, 0.05), False),
        ("schedule", (1.2, 0.05, 0.2), False),
        ("projected", (1.05, 0.05, 1.0), True),
        ("projected", (1.2, 0.05, 1.0), False),
        ("projected", (1.05, 0.08, 1.0), False),
    ],
)
def test_compressed_is_near_dense_or_is_not(
    setting: str, method: str, ratios: tuple[float, float, float], holds: bool
) -> None:
    claim = only(with_ratios(setting, "dense", (1.0, 1.0, 1.0)) + with_ratios(setting, method, ratios))
    regret, order, evaluations = ratios
    assert claim.holds == holds
    assert f"{regret:.2f} × the regret" in claim.found
    assert f"1/{1 / order:.0f} of the model order" in claim.found
    assert f"{evaluations:.1%} of the evaluations" in claim.found


def test_without_dense_there_is_nothing_to_compare_with() -> None:
    assert not list(claims(group(two("example-T1000", "schedule"))))
    assert not list(claims(group(two("example-T1000", "dense"))))


def test_short_runs_and_raw_rosenbrock_are_not_judged_against_dense() -> None:
    for name in ("example-T200", "rosenbrock-T100", "rosenbrock-raw-T1000"):
        assert not list(claims(group(two(name, "dense") + two(name, "schedule"))))


# Clock time

PRINTED = {"ucb": 0.282 / 0.994, "ei": 0.266 / 0.992, "mpi": 0.227 / 0.993}


@pytest.mark.parametrize("setting", ["logistic-digits", "logistic-mnist"])
@pytest.mark.parametrize("method", ["schedule", "absolute"])
@pytest.mark.parametrize("acquisition", PRINTED)
@pytest.mark.parametrize(("times", "holds"), [(0.9, True), (1.1, False)])
def test_the_clock_is_below_the_printed_share_of_dense_or_is_not(
    setting: str, method: str, acquisition: str, times: float, holds: bool
) -> None:
    share = times * PRINTED[acquisition]
    dense = two(setting, "dense-unmerged", acquisition, clock_seconds=8.0, initial_seconds=2.0)
    rows = two(setting, method, acquisition, clock_seconds=9.0 * share, initial_seconds=1.0 * share)
    claim = only([*dense, *rows])
    assert claim.holds == holds
    assert f"{PRINTED[acquisition]:.0%}" in claim.statement
    assert acquisition.upper() in claim.statement
    assert f"{share:.0%}" in claim.found


def test_merged_dense_is_not_the_paper_s_dense() -> None:
    assert not list(claims(group(two("logistic-digits", "dense") + two("logistic-digits", "schedule"))))
