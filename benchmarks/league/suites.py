"""Which problems are played: all by the fast systems, a part by those that take seconds for a suggestion."""

from benchmarks.league.problems import BBOB, STANDARD_NAMES, TABLES, is_held_out

_INSTANCES = (1, 2, 4, 3, 5)


def _league() -> list[str]:
    """Twelve functions of BBOB in 2, 5 and 10 dimensions, five others and three tables; some with noise."""
    exact = [
        f"bbob-f{number}-d{d}-i{_INSTANCES[(k + j) % len(_INSTANCES)]}"
        for k, number in enumerate(BBOB)
        for j, d in enumerate((2, 5, 10))
    ]
    noisy = [f"{name}+{('1%', '10%')[k % 2]}" for k, name in enumerate(exact[1::6])]
    standard = [name + mark for name in STANDARD_NAMES for mark in ("", "+1%", "+10%")]
    return exact + noisy + standard + list(TABLES)


LEAGUE = _league()
"""All sixty."""

SLOW = [
    *("branin-2", "hartmann-6", "rosenbrock-4", "bbob-f5-d5-i4", "bbob-f8-d5-i3"),
    *("bbob-f10-d2-i3", "bbob-f12-d5-i1", "bbob-f13-d5-i2", "bbob-f14-d10-i3"),
    *("ackley-5", "levy-10", "bbob-f15-d5-i3", "bbob-f16-d2-i3", "bbob-f17-d5-i1", "bbob-f20-d2-i1", "bbob-f21-d2-i2"),
    *("branin-2+10%", "hartmann-6+1%", "bbob-f8-d5-i3+10%", "bbob-f16-d5-i5+1%", "bbob-f20-d5-i2+10%"),
    *TABLES,
]
"""24 of them, of every group; nine are held out."""

LONG = ["hartmann-6", "bbob-f8-d5-i3", "bbob-f13-d5-i2", "bbob-f17-d5-i1", "branin-2+10%", "hpobench-vehicle"]
"""Six of those, for more evaluations."""

SUITES = {
    "league": LEAGUE,
    "slow": SLOW,
    "long": LONG,
    "develop": [name for name in LEAGUE if not is_held_out(name)],
    "held-out": [name for name in LEAGUE if is_held_out(name)],
}


def expand(names: list[str]) -> list[str]:
    """Suites by their problems, each once, in the order they come."""
    return list(dict.fromkeys(one for name in names for one in SUITES.get(name, [name])))
