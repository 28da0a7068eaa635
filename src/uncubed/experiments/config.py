"""What is run: settings and methods, read from one TOML file per experiment."""

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, final

EXPERIMENTS = ("example", "rosenbrock", "logistic", "tradeoff")
"""Each has a TOML file of its name."""


@final
@dataclass(frozen=True)
class Method:
    """A belief and a budget, by name and number.

    Attributes:
        name: short, unique within a setting.
        label: as figures and tables say it.
        belief: "exact", "unmerged", "projected" or "sketched".
        budget: "keep_all", "constant", "absolute" or "for_horizon".
        epsilon: of a constant or absolute budget, nats.
        alpha_p: α·p of Theorem 3.1's schedule.
        novelty: of a projected belief.
        oversampling: of a sketched belief.
    """

    name: str
    label: str
    belief: str
    budget: str
    epsilon: float | None = None
    alpha_p: float | None = None
    novelty: float | None = None
    oversampling: float | None = None


@final
@dataclass(frozen=True)
class Setting:
    """One problem with its horizon, and the acquisitions and methods to run on it.

    Attributes:
        experiment: the file it is from.
        name: unique over all experiments.
        title: as the report says it.
        problem: which function.
        levels: grid points per dimension.
        horizon: T.
        initial: random points known before the first round.
        noise_variance: σ² of the model.
        noise_std: standard deviation of the noise added to a value.
        length_scale: of the squared exponential kernel.
        delta: failure probability.
        acquisitions: of "ucb", "ei", "mpi".
        methods: what is compared.
        data: of the logistic regressor, "digits" or "mnist".
        epochs: of its training.
        box: the continuous box instead of the grid.
        seeds: how many at most.
    """

    experiment: str
    name: str
    title: str
    problem: str
    levels: tuple[int, ...]
    horizon: int
    initial: int
    noise_variance: float
    noise_std: float
    length_scale: float
    delta: float
    acquisitions: tuple[str, ...]
    methods: tuple[Method, ...]
    data: str = ""
    epochs: int = 0
    box: bool = False
    seeds: int | None = None

    @property
    def family(self) -> str:
        """The name in the file, from which several horizons or sizes may come."""
        return self.name.partition("@")[0]

    @property
    def on_box(self) -> "Setting":
        """The same on the continuous box."""
        return replace(self, name=f"{self.name}-box", title=f"{self.title}, continuous box", box=True)

    def digest(self, method: Method) -> str:
        """Of everything that can change what a run of this method gives."""
        described = ("name", "title", "acquisitions", "methods", "seeds", "experiment")
        numbers = {key: value for key, value in asdict(self).items() if key not in described}
        how = {key: value for key, value in asdict(method).items() if key not in ("name", "label")}
        return hashlib.sha256(json.dumps([numbers, how], sort_keys=True).encode()).hexdigest()[:12]


def source(name: str) -> str:
    """The text of a configuration file."""
    return files("uncubed.experiments").joinpath("configurations", f"{name}.toml").read_text(encoding="utf-8")


@cache
def methods() -> dict[str, Method]:
    """All methods, by name."""
    return {name: Method(name=name, **entry) for name, entry in tomllib.loads(source("methods")).items()}


@cache
def settings(experiment: str, *, quick: bool = False) -> tuple[Setting, ...]:
    """The settings of an experiment; with `quick` those of the quick run, with what it shortens."""
    file = tomllib.loads(source(experiment))
    entries = file.pop("setting")
    file.pop("title")
    chosen = [{**file, **entry} for entry in entries if not quick or "quick" in entry]
    return tuple(setting for entry in chosen for setting in _expand(experiment, entry, quick=quick))


def title(experiment: str) -> str:
    """The experiment's heading."""
    return str(tomllib.loads(source(experiment))["title"])


def _expand(experiment: str, entry: dict[str, Any], *, quick: bool) -> Iterator[Setting]:
    """The settings of one entry: one per horizon and size, where it lists several."""
    shortened = entry.pop("quick", {})
    entry = {**entry, **(shortened if quick else {})}
    chosen = (*(methods()[name] for name in entry.pop("methods")), *_sweep(entry))
    entry |= {"experiment": experiment, "methods": chosen, "acquisitions": tuple(entry["acquisitions"])}
    name, horizons, sizes = entry.pop("name"), entry.pop("horizons", None), entry.pop("sizes", None)
    for horizon in horizons or [entry["horizon"]]:
        for levels in [[size] for size in sizes or ()] or [entry["levels"]]:
            suffix = f"@T{horizon}" if horizons else f"@N{levels[0]}" if sizes else ""
            yield Setting(**{**entry, "name": name + suffix, "horizon": horizon, "levels": tuple(levels)})


def _sweep(entry: dict[str, Any]) -> Iterator[Method]:
    """The methods of a sweep over thresholds, schedules and novelties."""
    relative, schedule, projected = (methods()[name] for name in ("relative", "schedule", "projected"))
    for epsilon in entry.pop("epsilons", ()):
        yield replace(relative, name=f"epsilon-{epsilon:g}", label=f"ε = {epsilon:g}", epsilon=epsilon)
    for alpha_p in entry.pop("alphas_p", ()):
        yield replace(schedule, name=f"alpha-{alpha_p:g}", label=f"α = {alpha_p:g}/p", alpha_p=alpha_p)
    for novelty in entry.pop("novelties", ()):
        yield replace(projected, name=f"novelty-{novelty:g}", label=f"c = {novelty:g}", novelty=novelty)
