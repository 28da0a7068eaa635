"""Ray Tune's search spaces and ours.

| Tune | here |
|---|---|
| `uniform`, `loguniform`, `quniform` | `Float` |
| `qloguniform` | `Int`: which multiple of q it is |
| `randint`, `lograndint`, `qrandint`, `qlograndint` | `Int`, with the ends that Tune gives them |
| `choice` | `Categorical` |
| one of our own dimensions, in `space=` | itself |
| anything else | a constant |
| `grid_search`, `randn`, `qrandn` | refused |

`tune.Tuner` shows a search neither `sample_from` nor objects: it puts them into a configuration that was suggested.

Parameters may be nested in dicts and lists; their names are then joined by "/".
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple, final

from ray.tune.search import sample
from ray.tune.search.variant_generator import parse_spec_vars

from uncubed import _validation as check
from uncubed.dimensions import Categorical, Dimension, Float, Int
from uncubed.errors import InvalidInputError
from uncubed.space import Params

Config = dict[str, Any]
"""What Tune gives to a trainable, nested."""

Keys = tuple[Any, ...]
"""Where a parameter is in it."""


@final
class Parameter(NamedTuple):
    """Of a `param_space`.

    Attributes:
        keys: where it is.
        dimension: what is searched.
        unit: of which it is a whole multiple, unless None: then that multiple is searched.
    """

    keys: Keys
    dimension: Dimension
    unit: float | None

    def encode(self, name: str, value: Any) -> Any:
        if self.unit is None:
            return value
        multiple = check.real(name, value) / self.unit
        if abs(multiple - round(multiple)) > 1e-6:
            raise InvalidInputError(f"{name}: expected a multiple of {self.unit:g}, got {value}")
        return round(multiple)

    def decode(self, code: Any) -> Any:
        return code if self.unit is None else _multiple(code, self.unit)


@final
class TuneSpace:
    """What is searched of a `param_space`, and how its configurations become points."""

    def __init__(self, config: Config) -> None:
        constants, domains, grids = parse_spec_vars(check.kind("space", config, dict))
        found = [*domains, *grids, *(pair for pair in constants if isinstance(pair[1], Dimension))]
        self.parameters = {_name(keys): _parameter(keys, domain) for keys, domain in found}
        if len(self.parameters) < len(found):
            names = ", ".join(sorted(_name(keys) for keys, _ in found))
            raise InvalidInputError(f"space: expected different names, got {names}")
        self._inside = {p.keys[:i] for p in self.parameters.values() for i in range(len(p.keys))}
        self._template = self._filled(config, {p.keys: None for p in self.parameters.values()})  # no constants to keep

    def encode(self, config: Config) -> Params:
        """The optimiser's point; nested, or by name."""
        point = {}
        for name, parameter in self.parameters.items():
            node = config
            for key in [name] if name in config else parameter.keys:
                try:
                    node = node[key]
                except (LookupError, TypeError):
                    raise InvalidInputError(f"{name}: expected in each point, got {config!r}") from None
            point[name] = parameter.encode(name, node)
        return point

    def decode(self, point: Params) -> Config:
        """What is searched of a configuration; lists are whole."""
        values = {parameter.keys: parameter.decode(point[name]) for name, parameter in self.parameters.items()}
        config: Config = self._filled(self._template, values)
        return config

    def _filled(self, node: Any, values: Mapping[Keys, Any], at: Keys = (), *, whole: bool = False) -> Any:
        if at in values or at not in self._inside:
            return values.get(at, node)
        if isinstance(node, list | tuple):
            return type(node)(self._filled(child, values, (*at, i), whole=True) for i, child in enumerate(node))
        kept = [key for key in node if whole or (*at, key) in values or (*at, key) in self._inside]
        return {key: self._filled(node[key], values, (*at, key), whole=whole) for key in kept}


def _name(keys: Keys) -> str:
    return "/".join(map(str, keys))


def _parameter(keys: Keys, domain: Any) -> Parameter:
    name = _name(keys)
    refused = _refused(domain)
    if refused is not None:
        raise InvalidInputError(f"{name}: expected a range or a choice, got {refused}")
    try:
        return Parameter(keys, *_dimension(domain))
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from error


def _refused(domain: Any) -> str | None:
    """What a domain is that cannot be searched."""
    if isinstance(domain, Dimension):
        return None
    if domain.is_grid():
        return "grid_search; tune.choice searches the same values, and tune.Tuner without this search tries them all"
    if domain.is_function():
        return "sample_from; compute it in the trainable from what is searched"
    if isinstance(domain, sample.Categorical):
        inside = any(parse_spec_vars({"choices": domain.categories})[1:])
        return "a choice with ranges inside; search them beside it" if inside else None
    base, _ = _sampler(domain)
    is_range = isinstance(domain, sample.Float | sample.Integer) and isinstance(
        base, sample.Uniform | sample.LogUniform
    )
    return None if is_range else f"{base}, which has no ends" if isinstance(base, sample.Normal) else repr(domain)


def _sampler(domain: Any) -> tuple[Any, Any]:
    """How a domain is sampled, and by which steps."""
    sampler: Any = domain.get_sampler()
    return (sampler.sampler, sampler.q) if isinstance(sampler, sample.Quantized) else (sampler, None)


def _dimension(domain: Any) -> tuple[Dimension, float | None]:
    """With the unit of its multiples, if that is what is searched."""
    if isinstance(domain, Dimension):
        return domain, None
    if isinstance(domain, sample.Categorical):
        return Categorical(domain.categories), None
    base, q = _sampler(domain)
    log = isinstance(base, sample.LogUniform)
    if isinstance(domain, sample.Integer):
        return _whole_numbers(domain.lower, domain.upper, 1 if q is None else q, log=log), None
    if q is None:
        return Float(domain.lower, domain.upper, log=log), None
    first, last = round(domain.lower / q), round(domain.upper / q)
    if log:
        return Int(first, last, log=True), float(q)
    return Float(_multiple(first, q), _multiple(last, q), step=float(q)), None


def _multiple(times: int, q: float) -> float:
    """As it is written: three tenths are 0.3."""
    return float(times * Fraction(repr(float(q))))


def _whole_numbers(lower: int, upper: int, q: int, *, log: bool) -> Int:
    """Multiples of q; Tune leaves the upper end out if that is 1."""
    step = check.count("q", q)
    last = upper - 1 if step == 1 else upper // step * step
    return Int(-(-lower // step) * step, last, log=log, step=step)
