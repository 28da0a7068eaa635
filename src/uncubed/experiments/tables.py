"""The report's tables, as Markdown."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from tomllib import loads
from typing import Any

from uncubed.experiments import analysis
from uncubed.experiments.analysis import Interval
from uncubed.experiments.config import Method, Setting, methods, source
from uncubed.experiments.figures import Groups, alpha_label
from uncubed.experiments.runner import ACQUISITIONS, Row, budget

ABSENT = "—"
"""Where there is no number."""


@cache
def printed() -> dict[str, Any]:
    """The paper's numbers, by setting."""
    return loads(source("printed"))


def table(head: Sequence[str], lines: Iterable[Sequence[str]], *, words: bool = False) -> str:
    """Columns of numbers to the right, of words and the first to the left."""
    rule = [":--", *[":--" if words else "--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def number(value: float, digits: int = 3) -> str:
    """A number of a few digits, without an exponent where it can be read."""
    if math.isnan(value):
        return ABSENT
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{places}f}"


def spread(interval: Interval) -> str:
    """Mean ± half-width."""
    mean, half = interval
    if math.isnan(mean):
        return ABSENT
    if math.isnan(half) or half == 0:
        return f"{mean:,.0f}" if mean == round(mean) else number(mean)
    places = max(0, 1 - math.floor(math.log10(half)))
    return f"{mean:,.{places}f} ± {half:,.{places}f}"


def results(setting: Setting, groups: Groups) -> str:
    """Every method and acquisition: regret, model and evaluations at the horizon."""
    head = ["", "mean average regret", "over dense", "simple regret", "model order", "rows stored", "evaluations"]
    shown = [where for where in _present(setting, groups) if where[1] != "dense-unmerged"]  # dense, but for its clock
    return table(head, (_result(setting, groups, *where) for where in shown))


def _result(setting: Setting, groups: Groups, acquisition: str, method: str) -> list[str]:
    rows = groups[setting.name, acquisition, method]
    dense = groups.get((setting.name, acquisition, "dense"), ())
    regrets = analysis.interval(analysis.column(rows, "mean_average_regret"))
    base = analysis.interval(analysis.column(dense, "mean_average_regret")) if dense else Interval(math.nan, math.nan)
    columns = ("simple_regret", "model_order", "distinct", "evaluations")
    return [
        f"{ACQUISITIONS[acquisition]}, {methods()[method].label}",
        spread(regrets),
        f"{regrets.mean / base.mean:.2f}" if base.mean > 0 else ABSENT,
        *(spread(analysis.interval(analysis.column(rows, name))) for name in columns),
    ]


def published(setting: Setting, groups: Groups, entry: dict[str, Any]) -> str:
    """What the earlier version's figures show, beside the range of our seeds."""
    head = [
        "",
        "regret, printed",
        "ours, least",
        "mean",
        "largest",
        "model order, printed",
        "ours, least",
        "mean",
        "largest",
    ]
    shown = [(ours, theirs) for ours, theirs in PRINTED_AS.items() if (setting.name, "ucb", ours) in groups]
    return table(head, (_published(groups[setting.name, "ucb", ours], ours, theirs, entry) for ours, theirs in shown))


def _published(rows: Sequence[Row], ours: str, theirs: str, entry: dict[str, Any]) -> list[str]:
    regrets, orders = (analysis.column(rows, name) for name in ("mean_average_regret", "model_order"))
    return [
        methods()[ours].label,
        f"{entry['regret'][theirs]:g}",
        *_range(regrets),
        f"{entry['model_order'][theirs]:g}" if theirs in entry["model_order"] else ABSENT,
        *_range(orders),
    ]


def _range(values: Sequence[float]) -> list[str]:
    return [number(value) for value in (min(values), sum(values) / len(values), max(values))]


def clock(setting: Setting, groups: Groups) -> str:
    """Seconds of a run with its initial points, and the ratios to dense, ours and printed."""
    theirs = printed().get(setting.name.removesuffix("-box"), {}).get("clock", {})
    unit = printed().get(setting.name.removesuffix("-box"), {}).get("unit", "")
    head = ["", "seconds", "over dense", "over dense, not merged", f"printed, {unit}", "printed over dense"]
    kept = [*range(4)] + ([4, 5] if theirs else [])
    lines = (_clock(setting, groups, acquisition, method, theirs) for acquisition, method in _present(setting, groups))
    return table([head[i] for i in kept], ([line[i] for i in kept] for line in lines))


PRINTED_AS = {"dense-unmerged": "dense", "absolute": "compressed", "bkb": "bkb"}
"""Which of our methods is the one that the paper timed: its figures follow the absolute rule."""


def _clock(setting: Setting, groups: Groups, acquisition: str, method: str, theirs: dict[str, Any]) -> list[str]:
    rows = groups[setting.name, acquisition, method]
    seconds = analysis.interval([analysis.total_seconds(row) for row in rows])
    times, name = theirs.get(acquisition, {}), PRINTED_AS.get(method, "")
    known = name in times
    return [
        f"{ACQUISITIONS[acquisition]}, {methods()[method].label}",
        spread(seconds),
        *(_over(rows, groups.get((setting.name, acquisition, dense), ())) for dense in ("dense", "dense-unmerged")),
        f"{times[name]:g}" if known else ABSENT,
        f"{times[name] / times['dense']:.2f}" if known else ABSENT,
    ]


def _over(rows: Sequence[Row], reference: Sequence[Row]) -> str:
    """The ratio of mean clock times."""
    if not reference:
        return ABSENT
    mean = [sum(map(analysis.total_seconds, some)) / len(some) for some in (rows, reference)]
    return f"{mean[0] / mean[1]:.2f}"


def training(setting: Setting, groups: Groups) -> str:
    """Where the time of the logistic experiment goes, and what share of the saving is training not done."""
    head = ["", "clock over dense", "training, s", "the rest, s", "trainings", "share of the saving that is training"]
    shown = [where for where in _present(setting, groups) if where[1] not in ("dense-unmerged", "relative")]
    return table(head, (_training(setting, groups, *where) for where in shown))


def _training(setting: Setting, groups: Groups, acquisition: str, method: str) -> list[str]:
    rows, dense = groups[setting.name, acquisition, method], groups[setting.name, acquisition, "dense"]
    total, trained = (_mean(rows, of) for of in (analysis.total_seconds, analysis.training_seconds))
    dense_total, dense_trained = (_mean(dense, of) for of in (analysis.total_seconds, analysis.training_seconds))
    compresses = methods()[method].budget != "keep_all" and total < 0.9 * dense_total
    share = f"{(dense_trained - trained) / (dense_total - total):.0%}" if compresses else ABSENT
    return [
        f"{ACQUISITIONS[acquisition]}, {methods()[method].label}",
        f"{total / dense_total:.2f}",
        number(trained),
        number(total - trained),
        number(_mean(rows, lambda row: row["evaluations"] + row["initial"])),
        share,
    ]


def _mean(rows: Sequence[Row], of: Callable[[Row], float]) -> float:
    return sum(of(row) for row in rows) / len(rows)


def frozen(settings: Sequence[Setting], groups: Groups) -> str:
    """Evaluations not made, and where EI and MPI stopped for ever."""
    head = ["", "evaluations saved", "seeds frozen", "from round", "regret per round while frozen", "worst seed"]
    lines = [
        _frozen(setting, groups, acquisition, method)
        for setting in settings
        for acquisition, method in _present(setting, groups)
        if method in ("absolute", "schedule")
    ]
    return table(head, lines)


def _frozen(setting: Setting, groups: Groups, acquisition: str, method: str) -> list[str]:
    rows = groups[setting.name, acquisition, method]
    saved = 1.0 - _mean(rows, lambda row: row["evaluations"]) / setting.horizon
    stopped = [row for row in rows if row["frozen_at"] is not None]
    regrets = [analysis.final_regret(row) for row in stopped]
    return [
        f"{setting.title.partition(',')[0]}, T = {setting.horizon:,}, {ACQUISITIONS[acquisition]}, "
        f"{methods()[method].label.removeprefix('compressed, ')}",
        f"{saved:.1%}",
        f"{len(stopped)} of {len(rows)}",
        spread(analysis.interval(analysis.column(stopped, "frozen_at"))) if stopped else ABSENT,
        spread(analysis.interval(regrets)) if stopped else ABSENT,
        number(max(regrets)) if stopped else ABSENT,
    ]


def sweep(setting: Setting, groups: Groups) -> str:
    """Every point of the trade-off figure."""
    head = ["", "threshold on the variance", "mean average regret", "model order", "evaluations"]
    shown = [method for method in setting.methods if (setting.name, "ucb", method.name) in groups]
    return table(head, (_sweep(setting, groups, method) for method in shown))


def _sweep(setting: Setting, groups: Groups, method: Method) -> list[str]:
    rows, T, p = groups[setting.name, "ucb", method.name], setting.horizon, len(setting.levels)
    kept = method.budget != "keep_all"
    columns = ("mean_average_regret", "model_order", "evaluations")
    return [
        method.label,
        number(budget(setting, method).threshold(setting.noise_variance, p, round=T)) if kept else ABSENT,
        *(spread(analysis.interval(analysis.column(rows, name))) for name in columns),
    ]


def exponents(family: Sequence[Setting], groups: Groups) -> str:
    """Growth of Reg_T and M_T with T, beside what is printed and what follows."""
    last = [setting for setting in family if 10 * setting.horizon >= family[-1].horizon]
    head = [
        "",
        "Reg_T, all T",
        f"Reg_T, T ≥ {last[0].horizon:,}",
        "printed",
        "implied",
        "M_T, all T",
        "printed",
        "implied",
    ]
    return table(head, (_exponents(family, last, groups, method) for method in family[0].methods))


def _exponents(family: Sequence[Setting], last: Sequence[Setting], groups: Groups, method: Method) -> list[str]:
    p, alpha_p = len(family[0].levels), method.alpha_p or 0.0
    return [
        alpha_label(alpha_p),
        _growth(family, groups, method, analysis.cumulative_regret),
        _growth(last, groups, method, analysis.cumulative_regret),
        number({1.0: 1 - 1 / (4 * p), 0.5: 1 - 1 / (2 * p), 0.0: 1.0}[alpha_p]),
        number(1 - alpha_p / (2 * p)),
        _growth(family, groups, method, analysis.model_order),
        number({1.0: 1.0, 0.5: 0.5, 0.0: 0.0}[alpha_p]),
        number(alpha_p),
    ]


def _growth(family: Sequence[Setting], groups: Groups, method: Method, of: Callable[[Row], float]) -> str:
    rows = [row for setting in family for row in groups.get((setting.name, "ucb", method.name), ())]
    return _slope(analysis.exponent(rows, of, lambda row: float(row["horizon"])))


def _slope(interval: Interval) -> str:
    mean, half = interval
    if math.isnan(mean):
        return ABSENT
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"


def cost(family: Sequence[Setting], groups: Groups, grows: str) -> str:
    """Microseconds per round and numbers stored, at each size, and how they grow."""
    sizes = grows == "actions"
    names = [f"{s.levels[0]:,} actions" if sizes else f"T = {s.horizon:,}" for s in family]
    head = ["", *(f"µs, {name}" for name in names), "exponent", "rows × actions, last", "exponent"]
    return table(head, (line for method in family[0].methods if (line := _cost(family, groups, method.name, sizes))))


def _cost(family: Sequence[Setting], groups: Groups, method: str, sizes: bool) -> list[str]:
    per_size = [groups.get((setting.name, "ucb", method), ()) for setting in family]
    rows = [row for some in per_size for row in some]
    if not rows:
        return []
    over = (lambda row: float(row["actions"])) if sizes else (lambda row: float(row["horizon"]))
    micros = lambda row: 1e6 * row["clock_seconds"] / row["horizon"]  # noqa: E731
    return [
        methods()[method].label,
        *(number(_mean(some, micros)) if some else ABSENT for some in per_size),
        _slope(analysis.exponent(rows, micros, over)),
        number(_mean(per_size[-1], storage)) if per_size[-1] else ABSENT,
        _slope(analysis.exponent(rows, storage, over)),
    ]


def storage(row: Row) -> float:
    """Numbers kept for the action set: one per row of the model and action."""
    return float(row["distinct"] * row["actions"])


def bounds(setting: Setting, groups: Groups) -> str:
    """Measured cumulative regret beside everything that bounds it, compressed with α = 1/(2p)."""
    head = [
        "",
        "measured, mean",
        "measured, worst",
        "certificate",
        "Theorem 3.2",
        "Corollary 3.3",
        "Theorem 3.4, at least",
    ]
    return table(
        head, (_bounds(setting, groups, name) for name, method in _present(setting, groups) if method == "schedule")
    )


def _bounds(setting: Setting, groups: Groups, acquisition: str) -> list[str]:
    rows, T = groups[setting.name, acquisition, "schedule"], setting.horizon
    theory = analysis.PrintedBounds(math.prod(setting.levels), setting.noise_variance, setting.delta)
    regrets = [analysis.cumulative_regret(row) for row in rows]
    last = [row["curve"]["theorem_bound"][-1] for row in rows if row["curve"]["theorem_bound"]]
    return [
        ACQUISITIONS[acquisition],
        number(sum(regrets) / len(regrets)),
        number(max(regrets)),
        number(_mean(rows, lambda row: row["curve"]["regret_bound"][-1])),
        number(sum(last) / len(last)) if last else ABSENT,
        number(theory.corollary(T)) if acquisition == "ucb" and len(setting.levels) == 1 else ABSENT,
        number(_expected_improvement(setting, theory, rows)) if acquisition == "ei" else ABSENT,
    ]


def _expected_improvement(setting: Setting, theory: analysis.PrintedBounds, rows: Sequence[Row]) -> float:
    """Theorem 3.4 with each run's own model order and largest z-score."""
    where = (setting.problem, setting.levels, setting.noise_variance, setting.length_scale)
    gains = analysis.maximum_gains(*where, max(row["model_order"] for row in rows))
    alpha = 0.5 / len(setting.levels)
    return _mean(
        rows,
        lambda row: theory.expected_improvement(
            setting.horizon, float(gains[row["model_order"]]), row["z_score"], alpha
        ),
    )


def coverage(setting: Setting, groups: Groups) -> str:
    """In how many runs the cumulative certificate was above the measured regret at every mark, and how many warned."""
    head = ["held throughout / warned about the prior / runs", *(ACQUISITIONS[name] for name in setting.acquisitions)]
    shown = [method for method in setting.methods if method.name != "dense-unmerged"]
    lines = [
        [method.label, *(_coverage(groups.get((setting.name, name, method.name), ())) for name in setting.acquisitions)]
        for method in shown
    ]
    return table(head, lines)


def _coverage(rows: Sequence[Row]) -> str:
    if not rows:
        return ABSENT
    held = (analysis.curves(rows, "regret_bound") >= analysis.curves(rows, "cumulative_regret")).all(axis=1)
    warned = sum("do not look drawn" in " ".join(row["caveats"]) for row in rows)
    return f"{held.sum()} / {warned} / {len(rows)}"


def _present(setting: Setting, groups: Groups) -> list[tuple[str, str]]:
    """Acquisitions and methods for which there are rows."""
    pairs = ((acquisition, method.name) for acquisition in setting.acquisitions for method in setting.methods)
    return [(acquisition, name) for acquisition, name in pairs if (setting.name, acquisition, name) in groups]
