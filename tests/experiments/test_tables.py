import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.experiments.test_analysis import every_row, made
from uncubed.experiments import tables
from uncubed.experiments.analysis import Interval, PrintedBounds, maximum_gains
from uncubed.experiments.config import EXPERIMENTS, Setting, settings
from uncubed.experiments.figures import Groups
from uncubed.experiments.results import group
from uncubed.experiments.runner import Row
from uncubed.experiments.tables import ABSENT, number, spread

SETTINGS = {setting.name: setting for name in EXPERIMENTS for setting in settings(name)}
EXAMPLE, LOGISTIC = SETTINGS["example-T200"], SETTINGS["logistic-digits"]
PUBLISHED = ["example-T200", "rosenbrock-raw-T100", "logistic-mnist"]


def family(name: str) -> list[Setting]:
    return [setting for setting in SETTINGS.values() if setting.family == name]


def parsed(text: str) -> dict[str, list[str]]:
    """The cells of each line by its first, the head's under ""; all lines have as many."""
    lines = [[cell.strip() for cell in line[2:-2].split("|")] for line in text.split("\n")]
    assert all(line.startswith("| ") and line.endswith(" |") for line in text.split("\n"))
    assert len({len(cells) for cells in lines}) == 1
    head, rule, *rest = lines
    assert rule == [":--", *["--:"] * (len(head) - 1)]
    assert len({cells[0] for cells in rest}) == len(rest)
    assert all(cell for cells in rest for cell in cells)
    return {"": head[1:]} | {cells[0]: cells[1:] for cells in rest}


def shown(text: str) -> float:
    return float(text.replace(",", ""))


# Numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"),
        (math.nan, ABSENT),
        (3.0, "3.00"),
        (201.0, "201"),
        (1002.0, "1,002"),
        (999_999.0, "999,999"),
        (0.126, "0.126"),
        (-0.126, "-0.126"),
        (0.00012345, "0.000123"),
        (0.00001, "1.00e-05"),
        (-0.00001, "-1.00e-05"),
        (1.65e6, "1.65e+06"),
        (-2.5e9, "-2.50e+09"),
        (math.inf, "inf"),
    ],
)
def test_a_number_has_three_digits_and_an_exponent_only_where_it_needs_one(value: float, expected: str) -> None:
    assert number(value) == expected


@given(st.floats(1e-12, 1e12), st.booleans(), st.integers(2, 6))
def test_a_number_is_what_it_shows(size: float, negative: bool, digits: int) -> None:
    value = -size if negative else size
    assert shown(number(value, digits)) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [
        (math.nan, math.nan, ABSENT),
        (201.0, 0.0, "201"),
        (1002.0, math.nan, "1,002"),
        (0.126, math.nan, "0.126"),
        (0.126, 0.0, "0.126"),
        (0.0, 0.0, "0"),
        (0.126, 0.0149, "0.126 ± 0.015"),
        (7.2, 11.3, "7 ± 11"),
        (-0.5, 0.25, "-0.50 ± 0.25"),
        (0.0000123, 0.0000011, "0.0000123 ± 0.0000011"),
        (123_456.7, 2345.6, "123,457 ± 2,346"),
    ],
)
def test_a_mean_has_the_digits_of_its_interval(mean: float, half: float, expected: str) -> None:
    assert spread(Interval(mean, half)) == expected


@given(st.floats(-1e5, 1e5), st.floats(1e-6, 1e5))
def test_a_mean_and_its_interval_are_what_is_shown(mean: float, half: float) -> None:
    left, right = spread(Interval(mean, half)).split(" ± ")
    assert shown(right) == pytest.approx(half, rel=0.051)
    assert shown(left) == pytest.approx(mean, abs=max(0.051 * half, 0.5 if half >= 10.0 else 0.0))
    assert len(left.partition(".")[2]) == len(right.partition(".")[2])


# All tables

TABLES: dict[str, tuple[list[Setting], Callable[[list[Setting], Groups], str]]] = {
    "results": ([EXAMPLE], lambda some, groups: tables.results(some[0], groups)),
    "clock": ([EXAMPLE], lambda some, groups: tables.clock(some[0], groups)),
    "clock, nothing printed": ([LOGISTIC], lambda some, groups: tables.clock(some[0], groups)),
    "frozen": (list(settings("rosenbrock")), tables.frozen),
    "exponents, p = 1": (family("growth-example"), tables.exponents),
    "exponents, p = 2": (family("growth-rosenbrock"), tables.exponents),
    "cost, rounds": (family("cost-rounds"), lambda some, groups: tables.cost(some, groups, "rounds")),
    "cost, actions": (family("cost-actions"), lambda some, groups: tables.cost(some, groups, "actions")),
    "bounds": ([EXAMPLE], lambda some, groups: tables.bounds(some[0], groups)),
    "coverage": ([EXAMPLE], lambda some, groups: tables.coverage(some[0], groups)),
    "training": ([LOGISTIC], lambda some, groups: tables.training(some[0], groups)),
}
every_table = pytest.mark.parametrize(("chosen", "make"), TABLES.values(), ids=TABLES)


def rows_of(chosen: list[Setting], **known: Any) -> list[Row]:
    return [row for setting in chosen for row in every_row(setting, **known)]


@every_table
def test_every_line_has_a_cell_for_every_column(chosen: list[Setting], make: Callable[..., str]) -> None:
    assert len(parsed(make(chosen, group(rows_of(chosen))))) > 1


@every_table
@pytest.mark.parametrize("kept", [("dense",), ("dense", "absolute"), ("dense", "schedule", "alpha-1")], ids=str)
def test_missing_methods_and_acquisitions_are_left_out_or_absent(
    chosen: list[Setting], make: Callable[..., str], kept: tuple[str, ...]
) -> None:
    rows = [row for row in rows_of(chosen) if row["method"] in kept and row["acquisition"] != "mpi"]
    lines = parsed(make(chosen, group(rows)))
    assert not [name for name in lines if name.startswith("MPI")]


@every_table
def test_one_seed_and_seeds_of_some_only_are_enough(chosen: list[Setting], make: Callable[..., str]) -> None:
    first = rows_of(chosen)[::2]
    more = [row for row in rows_of(chosen) if row["seed"] == 0 or row["method"] != "dense"]
    alone, unequal = (parsed(make(chosen, group(rows))) for rows in (first, more))
    assert alone.keys() == unequal.keys()


@pytest.mark.parametrize(
    "name",
    [name for name in TABLES if name != "coverage"],
)
def test_one_seed_has_no_interval(name: str) -> None:
    chosen, make = TABLES[name]
    lines = parsed(make(chosen, group(rows_of(chosen)[::2])))
    assert not [cell for label, cells in lines.items() if label for cell in cells if "±" in cell or "nan" in cell]


@every_table
def test_without_rows_there_is_a_head(chosen: list[Setting], make: Callable[..., str]) -> None:
    assert parsed(make(chosen, {}))[""]


@pytest.mark.parametrize("make", [tables.results, tables.clock])
def test_without_dense_nothing_is_over_it(make: Callable[[Setting, Groups], str]) -> None:
    lines = parsed(make(EXAMPLE, group([row for row in every_row(EXAMPLE) if row["method"] != "dense"])))
    column = lines[""].index("over dense")
    assert {cells[column] for label, cells in lines.items() if label} == {ABSENT}


def test_no_regret_is_not_a_crash() -> None:
    lines = parsed(tables.results(EXAMPLE, group([made(EXAMPLE, mean_average_regret=0.0)])))
    assert lines["UCB, dense"][:2] == ["0", ABSENT]


# Each


def test_results_leave_out_what_differs_from_dense_by_its_clock_only() -> None:
    lines = parsed(tables.results(EXAMPLE, group(every_row(EXAMPLE))))
    assert not [name for name in lines if "not merged" in name]
    assert len(lines) == 1 + 3 * 6


def test_regret_over_dense_is_a_ratio_of_means() -> None:
    rows = [made(EXAMPLE, seed=seed) for seed in range(2)]
    rows += [made(EXAMPLE, method="absolute", seed=seed, mean_average_regret=0.45) for seed in range(2)]
    column = parsed(tables.results(EXAMPLE, group(rows)))
    assert column[""][1] == "over dense"
    assert column["UCB, dense"][1] == "1.00"
    assert column["UCB, compressed, absolute ε = 1e-4"][1] == "3.00"


OURS = {"dense, repeats not merged": "dense", "compressed, absolute ε = 1e-4": "compressed", "BKB": "bkb"}
"""What the paper calls them."""


def clock_of(name: str) -> dict[str, list[str]]:
    return parsed(tables.clock(SETTINGS[name], group(every_row(SETTINGS[name]))))


@pytest.mark.parametrize("name", PUBLISHED)
def test_printed_clock_times_are_beside_the_method_they_are_of(name: str) -> None:
    entry, lines = tables.printed()[name], clock_of(name)
    assert lines.pop("")[3:] == [f"printed, {entry['unit']}", "printed over dense"]
    for label, cells in lines.items():
        acquisition, _, method = label.partition(", ")
        times = entry["clock"][acquisition.lower()]
        if method in OURS:
            assert shown(cells[3]) == pytest.approx(times[OURS[method]], rel=5e-3)
            assert cells[4] == f"{times[OURS[method]] / times['dense']:.2f}"
        else:
            assert cells[3:] == [ABSENT, ABSENT]
    assert len(lines) == 3 * 7


@pytest.mark.parametrize("name", PUBLISHED)
def test_printed_curves_are_beside_the_range_of_our_seeds(name: str) -> None:
    setting, entry = SETTINGS[name], tables.printed()[name]
    regrets = {0: 0.25, 1: 0.75, 2: 2.0}
    rows = [
        made(setting, "ucb", method, seed, mean_average_regret=regret, model_order=10 + seed)
        for method in ("dense-unmerged", "absolute", "bkb", "schedule")
        for seed, regret in regrets.items()
    ]
    lines = parsed(tables.published(setting, group(rows), entry))
    del lines[""]
    assert sorted(lines) == sorted(OURS)
    for label, cells in lines.items():
        order = entry["model_order"].get(OURS[label])
        assert cells[0] == f"{entry['regret'][OURS[label]]:g}"
        assert [shown(cell) for cell in cells[1:4]] == [0.25, 1.0, 2.0]
        assert cells[4] == (ABSENT if order is None else f"{order}")
        assert [shown(cell) for cell in cells[5:]] == [10.0, 11.0, 12.0]


def test_printed_clock_times_are_as_printed() -> None:
    assert clock_of("example-T200")["EI, BKB"][3] == "10.578"


def test_where_nothing_was_printed_there_are_no_such_columns() -> None:
    assert sorted(tables.printed()) == sorted(PUBLISHED)
    for name in ("example-T1000", "rosenbrock-T100", "logistic-digits"):
        assert clock_of(name)[""] == ["seconds", "over dense", "over dense, not merged"]
    on_box = tables.clock(EXAMPLE.on_box, group(every_row(EXAMPLE.on_box)))
    assert parsed(on_box) == clock_of("example-T200")


def test_clock_ratios_are_to_both_dense_ones() -> None:
    seconds = {"dense": 2.0, "dense-unmerged": 4.0, "absolute": 1.0}
    rows = [made(EXAMPLE, method=name, clock_seconds=s - 0.5, seed=k) for name, s in seconds.items() for k in (0, 1)]
    lines = parsed(tables.clock(EXAMPLE, group(rows)))
    assert lines["UCB, dense"][:3] == ["2", "1.00", "0.50"]
    assert lines["UCB, dense, repeats not merged"][:3] == ["4", "2.00", "1.00"]
    assert lines["UCB, compressed, absolute ε = 1e-4"][:3] == ["1", "0.50", "0.25"]
    alone = parsed(tables.clock(EXAMPLE, group(rows[-1:])))
    assert alone["UCB, compressed, absolute ε = 1e-4"][1:3] == [ABSENT, ABSENT]


@pytest.mark.parametrize(
    ("name", "printed", "implied"),
    [("growth-example", [0.75, 0.5, 1.0], [0.5, 0.75, 1.0]), ("growth-rosenbrock", [0.875, 0.75, 1], [0.75, 0.875, 1])],
)
def test_table_1_has_its_printed_and_implied_exponents(name: str, printed: list[float], implied: list[float]) -> None:
    some = family(name)
    rows = [row for s in some for row in every_row(s, mean_average_regret=s.horizon**-0.5, model_order=7)]
    head, *lines = parsed(tables.exponents(some, group(rows))).items()
    assert head[1] == ["Reg_T, all T", "Reg_T, T ≥ 10,000", "printed", "implied", "M_T, all T", "printed", "implied"]
    assert [label for label, _ in lines] == ["α = 1/p", "α = 1/(2p)", "α = 0"]
    assert [shown(cells[2]) for _, cells in lines] == printed
    assert [shown(cells[3]) for _, cells in lines] == implied
    for column in (5, 6):
        assert [shown(cells[column]) for _, cells in lines] == [1.0, 0.5, 0.0]
    assert {(*cells[:2], cells[4].lstrip("-")) for _, cells in lines} == {("0.50 ± 0.00", "0.50 ± 0.00", "0.00 ± 0.00")}


def test_one_horizon_has_no_exponent() -> None:
    some = family("growth-example")
    lines = parsed(tables.exponents(some, group(every_row(some[0]))))
    assert [lines["α = 1/p"][column] for column in (0, 1, 4)] == [ABSENT] * 3


def test_frozen_seeds_are_counted_and_their_regret_is_that_of_the_end() -> None:
    at, regrets = [None, 40, 50], [9.0, 0.25, 0.75]
    rows = [
        made(EXAMPLE, "ei", "schedule", seed, frozen_at=at[seed], mean_average_regret=regrets[seed], evaluations=50)
        for seed in range(3)
    ]
    lines = parsed(tables.frozen([EXAMPLE], group([*rows, made(EXAMPLE, "ei", "dense")])))
    (label, cells), *others = list(lines.items())[1:]
    assert not others
    assert label == "example function, T = 200, EI, α = 1/(2p)"
    assert cells[:2] == ["75.0%", "2 of 3"]
    assert cells[2].split(" ± ")[0] == "45"
    assert cells[3].split(" ± ")[0] == "0.5"
    assert cells[4] == "0.750"


def test_what_never_froze_has_no_round() -> None:
    (cells,) = list(parsed(tables.frozen([EXAMPLE], group([made(EXAMPLE, "mpi", "absolute")]))).values())[1:]
    assert cells == ["0.0%", "0 of 1", ABSENT, ABSENT, ABSENT]


def test_the_share_of_training_is_of_the_seconds_saved() -> None:
    def row(method: str, total: float, trained: float) -> Row:
        clocks: dict[str, Any] = {"clock_seconds": total - 1.0, "objective_seconds": trained - 1.0}
        return made(LOGISTIC, method=method, evaluations=30, initial_seconds=1.0, **clocks)

    rows = [row("dense", 10.0, 8.0), row("absolute", 4.0, 3.5), row("schedule", 9.5, 8.0), row("bkb", 2.0, 1.0)]
    lines = parsed(tables.training(LOGISTIC, group([*rows, row("relative", 9.0, 9.0)])))
    assert lines["UCB, compressed, absolute ε = 1e-4"] == ["0.40", "3.50", "0.500", "46.0", "75%"]
    assert lines["UCB, compressed, α = 1/(2p)"][-1] == ABSENT  # hardly a saving
    assert lines["UCB, BKB"][-1] == lines["UCB, dense"][-1] == ABSENT  # they train as often
    assert not [name for name in lines if "relative" in name]


def test_bounds_are_beside_the_regret_they_are_of() -> None:
    rows = [made(EXAMPLE, name, "schedule", seed) for name in ("ucb", "ei", "mpi") for seed in (0, 1)]
    lines = parsed(tables.bounds(EXAMPLE, group([*rows, made(EXAMPLE)])))
    printed = PrintedBounds(500, 1e-3, 0.1)
    where = (EXAMPLE.problem, EXAMPLE.levels, EXAMPLE.noise_variance, EXAMPLE.length_scale)
    theorem_3_4 = printed.expected_improvement(200, float(maximum_gains(*where, 20)[20]), 3.0, 0.5)
    assert lines["UCB"] == ["30.0", "40.0", "61.0", "92.0", number(printed.corollary(200)), ABSENT]
    assert lines["EI"] == ["30.0", "40.0", "61.0", ABSENT, ABSENT, number(theorem_3_4)]
    assert lines["MPI"] == ["30.0", "40.0", "61.0", ABSENT, ABSENT, ABSENT]


def test_coverage_counts_the_runs_that_held_throughout_and_those_that_warned() -> None:
    rows = [made(EXAMPLE, seed=seed) for seed in range(4)]
    rows[0]["curve"]["regret_bound"][1] = 0.0  # once too low
    rows[1]["caveats"] = ["the values do not look drawn from this prior: centre and scale them"]
    rows[2]["caveats"] = ["something else"]
    lines = parsed(tables.coverage(EXAMPLE, group(rows)))
    assert lines["dense"] == ["3 / 1 / 4", ABSENT, ABSENT]
    assert lines["BKB"] == [ABSENT] * 3


def test_cost_is_per_round_with_its_growth() -> None:
    some = family("cost-rounds")
    rows = [row for s in some for row in every_row(s, clock_seconds=1e-6 * s.horizon**2, distinct=s.horizon)]
    lines = parsed(tables.cost(some, group(rows), "rounds"))
    assert lines["dense"] == ["100", "316", "1,000", "3,162", "1.00 ± 0.00", "3.16e+06", "1.00 ± 0.00"]
