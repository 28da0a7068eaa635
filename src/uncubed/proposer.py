"""What to try next, and how far from the best one can still be: the model asked, over a space."""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from uncubed._typing import Array
from uncubed.acquisition import (
    Acquisition,
    ExpectedImprovement,
    MostProbableImprovement,
    NoisyImprovement,
    ProbabilityOfImprovement,
    PureExploration,
    Selection,
    UpperConfidenceBound,
)
from uncubed.actions import Box, finite_beta, shifted, sobol
from uncubed.beliefs import Belief
from uncubed.beliefs.projected import LEAST_NOVELTY
from uncubed.budget import Budget
from uncubed.candidates import Candidates
from uncubed.certificate import BOX_EVENTS
from uncubed.contenders import NEAR, Contenders, contenders
from uncubed.errors import InvalidInputError
from uncubed.fit import Priors
from uncubed.kernels import Kernel
from uncubed.model import Model
from uncubed.region import Region
from uncubed.search import Search, Worth
from uncubed.space import Params, Space
from uncubed.table import TableSearch
from uncubed.vicinity import Place, Vicinity

_POOLS = 16  # in which a point that constraints allow, or one that is new, is looked for
_BOUND = UpperConfidenceBound()
_OF_INCUMBENT = (ExpectedImprovement, MostProbableImprovement, ProbabilityOfImprovement)


class Bounds(NamedTuple):
    """What holds everywhere, in the belief's units.

    Attributes:
        recommended: where the lower bound is largest, shape (width,).
        lower: the bound there.
        upper: the largest upper bound of all points.
        width: √β.
    """

    recommended: Array
    lower: float
    upper: float
    width: float


@final
class Proposer:
    """Chooses points for a model to learn from.

    Args:
        space: where they are.
        model: what is known.
        acquisition: how they are chosen.
        budget: which of them are worth an evaluation.
        constraints: functions of the params that must all say True.
        delta: failure probability of the bounds.
        rng: of the first design; later draws come from the generators given.
    """

    def __init__(
        self,
        space: Space | Candidates,
        model: Model,
        *,
        acquisition: Acquisition,
        budget: Budget,
        constraints: Sequence[Callable[[Params], bool]],
        delta: float,
        rng: np.random.Generator,
    ) -> None:
        self.space, self.model, self.acquisition, self.budget = space, model, acquisition, budget
        self.constraints, self.delta = constraints, delta
        self._survey: Any = TableSearch(space) if isinstance(space, Candidates) else Search(space)
        # What is claimed of all points is looked for hard; what to try next need not be, see `benchmarks/README.md`.
        self._search: Any = self._survey
        if isinstance(space, Space) and not self._survey.exhaustive:
            self._search = Search(space, pool=96, starts=6, steps=3 + space.width // 2, gain=0.01)
        self._domain = _Domain(space.width, space.size)
        self._vicinity = Vicinity(space.groups)
        self._known: tuple[int, Contenders] | None = None
        self.first = self._design(min(3 + len(space.names), 12), rng)
        """Points to begin with, shape (n, width)."""

    @property
    def exhaustive(self) -> bool:
        """Whether every point of the space is looked at."""
        return bool(self._survey.exhaustive)

    def hold(self, fixed: Mapping[str, Any]) -> Any:
        """What a search must leave as it is for these parameters to have these values."""
        return self._search.hold(fixed)

    def propose(
        self,
        round: int,
        belief: Belief,
        held: Any,
        rng: np.random.Generator,
        repeats: Callable[[Selection], bool],
        *,
        turn: int,
    ) -> Selection:
        """The best of what is worth it; when nothing is, the best of the rest.

        Args:
            round: of the suggestion, from 1.
            belief: the model's, or the same with what is awaited.
            held: what `hold` gave.
            rng: of the search.
            repeats: whether a point is only to be tried again if there is no other.
            turn: of looking near the best or everywhere; one more for every point tried or awaited.
        """
        worth = self.worth(round)
        near = self._find_near(round, belief, held, rng, worth=worth, repeats=repeats, turn=turn)
        if near is not None:
            return near
        # Of what constraints allow a pool may have nothing; the generator goes on, so that the next one is another.
        tries = (self._find(round, belief, held, rng, worth=worth, otherwise=Worth()) for _ in range(_POOLS))
        found = next((one for one in tries if one is not None), None)
        if found is None:
            raise InvalidInputError("constraints: expected a point that satisfies them, got none in a whole search")
        if worth.of(np.array(found.mean), np.array(found.variance)):
            chosen = self._instead(found, worth, self._finder(round, belief, held, rng), repeats)
            if chosen is not None:
                return chosen
        return (self._least_known(belief, held, deepcopy(rng), repeats) or found) if repeats(found) else found

    def find(
        self,
        round: int,
        belief: Belief,
        rng: np.random.Generator,
        repeats: Callable[[Selection], bool],
        *,
        turn: int,
    ) -> Selection | None:
        """The best of what is worth it, if anything is; of an exact function, if anything is left to be known."""
        held, worth = self.hold({}), self.worth(round)
        near = self._find_near(round, belief, held, rng, worth=worth, repeats=repeats, turn=turn)
        if near is not None:
            return near
        for search in dict.fromkeys((self._search, self._survey)):
            found = self._find(round, belief, held, rng, worth=worth, otherwise=None, search=search)
            if found is not None:
                found = self._instead(found, worth, self._finder(round, belief, held, rng, search), repeats)
            if found is not None:
                return found
        return None

    def _find_near(
        self,
        round: int,
        belief: Belief,
        held: Any,
        rng: np.random.Generator,
        *,
        worth: Worth,
        repeats: Callable[[Selection], bool],
        turn: int,
    ) -> Selection | None:
        """What is worth it near the best, if there is something new."""
        for region, unknown in self._places(turn, held):
            new = worth._replace(variance=max(worth.variance, unknown))
            found = self._find(round, belief, held, rng, worth=new, otherwise=None, within=region)
            if found is not None and not (self.is_known(found) or repeats(found)):
                return found
        return None

    def _places(self, turn: int, held: Any) -> list[Place]:
        """Where to look near the best; none means everywhere.

        Where parameters are held the best may be another's, and other rules than expected improvement mean everywhere.
        """
        known, by_improvement = self.contenders().rows, isinstance(self.acquisition, ExpectedImprovement)
        if self._search is self._survey or not (len(known) and by_improvement) or held.columns.any():
            return []
        return self._vicinity.places(turn, self.model.belief, known[0], len(self.model.history))

    def twin(self, action: Array) -> Array | None:
        """A contender that differs from this point by less than what may be noise, or may not; None if none does.

        To try it again shows which, and teaches about as much.
        """
        rows, belief = self.contenders().rows, self.model.belief
        if not self.model.unclear or not len(rows):
            return None
        differences = 2.0 * (belief.kernel.variance - belief.kernel(action[None, :], rows)[0])
        nearest = int(differences.argmin())
        return rows[nearest].copy() if differences[nearest] <= belief.noise_variance else None

    def is_known(self, found: Selection) -> bool:
        """Whether a point of an exact function is known, or it would be asked for again and again."""
        told = self.model.exact and self.model.history.exact_at(found.action) is not None
        return told or found.variance <= self._least_variance()

    def worth(self, round: int) -> Worth:
        """Informative, and with an upper bound that reaches the best lower bound known."""
        return Worth(self.threshold(round), self.width(), self._floor())

    def threshold(self, round: int) -> float:
        """The variance, in the belief's units, up to which a point teaches too little."""
        noise, scale = self.model.belief.noise_variance, self.model.scaling.stretch(self._floor())
        beta = self.width() ** 2 if self.budget.needs_beta else None
        return self.budget.threshold(noise, self.space.width, scale, round, beta=beta)

    def _floor(self) -> float:
        """The best lower bound known."""
        return self.contenders().floor(self.width())

    def _instead(
        self,
        found: Selection,
        worth: Worth,
        find: Callable[[Worth], Selection | None],
        repeats: Callable[[Selection], bool],
    ) -> Selection | None:
        """This, or if it is a repeat the best that is new; None if all that is worth it is spent."""
        if not (self.is_known(found) or repeats(found)):
            return found
        new, other = worth._replace(new=_new(repeats)), found
        for _ in range(_POOLS):
            least = self._least_variance() if self.is_known(other) else 0.0
            # Where there is no end of points, what is next to a repeat is as good as one.
            least = max(least, other.variance) if self.space.size is None else least
            new = new._replace(variance=max(new.variance, least))
            better = find(new)
            if better is None:
                break
            if not repeats(better):
                return better if repeats(found) else found
            other = better
        return None if self._is_spent(found) and worth.variance > -math.inf else found

    def _is_spent(self, found: Selection) -> bool:
        """Whether a repeat would show nothing new: it is known, or values come again as they were, or it failed."""
        history = self.model.history
        failed = found.action in history and math.isnan(history.mean_at(found.action))
        return failed or history.repeats_itself or self.is_known(found)

    def _least_variance(self) -> float:
        belief = self.model.belief
        kept = 2.0 * LEAST_NOVELTY * belief.kernel.variance  # by what is no atom, whatever is told there
        exact = belief.noise_variance < 2.0 * Priors().noise_variance.least
        return max(kept, belief.noise_variance) if exact else kept

    def width(self) -> float:
        """√β."""
        t, kernel = len(self.model.history) + 1, self.model.belief.kernel
        return math.sqrt(self._domain.theoretical_beta(t, kernel, self.delta, BOX_EVENTS))

    def bounds(self, rng: np.random.Generator, *, whole: bool = True) -> Bounds:
        """The largest lower and the largest upper bound, up to the search.

        The lower bound where the upper one is largest counts too, so that they differ by no more than 2√β σ there.

        Args:
            rng: of the search.
            whole: whether all rows of a table are looked at for the upper bound; else it is up to the search there too.
        """
        search = self._survey.largest if whole else partial(self._survey.maximise, worth=Worth())
        belief = self.model.belief
        top = search(_BOUND, self.width(), belief, rng, **self._around())
        # A lower bound is an upper bound of negative width.
        low = self._survey.maximise(_BOUND, -self.width(), belief, rng, worth=Worth(), **self._around())
        return self._bounds(top, low)

    def glance(self, rng: np.random.Generator) -> Bounds:
        """The same as far as is seen at once: the upper bound by a quick search, the lower one among what was told."""
        belief = self.model.belief
        top = self._search.maximise(_BOUND, self.width(), belief, rng, worth=Worth(), **self._around())
        return self._bounds(top)

    def _bounds(self, *found: Selection | None) -> Bounds:
        belief, width = self.model.belief, self.width()
        atoms = belief.dictionary.reshape(-1, self.space.width)  # of an empty belief too
        X = np.vstack([self.contenders().rows, atoms, *(one.action for one in found if one is not None)])
        mean, variance = self.model.predict(X)
        reach = width * np.sqrt(variance)
        k = int((mean - reach).argmax())
        return Bounds(X[k], float(mean[k] - reach[k]), float((mean + reach).max()), width)

    def contenders(self) -> Contenders:
        """Points told that may be the best."""
        if self._known is None or self._known[0] != len(self.model.history):
            self._known = len(self.model.history), contenders(self.model, self.width())
        return self._known[1]

    def admissible(self, params: Params) -> bool:
        """Whether the constraints allow a point."""
        return all(constraint(params) for constraint in self.constraints)

    @property
    def _admissible(self) -> Callable[[Params], bool] | None:
        return self.admissible if self.constraints else None

    def _find(
        self,
        round: int,
        belief: Belief,
        held: Any,
        rng: np.random.Generator,
        *,
        worth: Worth,
        otherwise: Worth | None,
        search: Any = None,
        **where: Region,
    ) -> Selection | None:
        found: Selection | None = (search or self._search).maximise(
            self._aim(),
            self._parameter(round, rng),
            belief,
            rng,
            worth=worth,
            otherwise=otherwise,
            held=held,
            **self._around(),
            **where,
        )
        return found

    def _finder(
        self, round: int, belief: Belief, held: Any, rng: np.random.Generator, search: Any = None
    ) -> Callable[[Worth], Selection | None]:
        """What finds the best that is worth it, for one worth after the other, each time from the same generator."""
        return lambda worth: self._find(round, belief, held, deepcopy(rng), worth=worth, otherwise=None, search=search)

    def _least_known(
        self, belief: Belief, held: Any, rng: np.random.Generator, repeats: Callable[[Selection], bool]
    ) -> Selection | None:
        """The point of which least is known, of those that are new if there are any."""
        found: Selection | None = self._search.maximise(
            PureExploration(),
            0.0,
            belief,
            rng,
            worth=Worth(new=_new(repeats)),
            otherwise=Worth(),
            held=held,
            **self._around(),
        )
        return found

    def _around(self) -> dict[str, Any]:
        """Where a search looks closer, and what it may find."""
        return {"near": self.contenders().rows[:NEAR], "admissible": self._admissible}

    def _aim(self) -> Acquisition:
        """The acquisition; of improvement, that by one value where values are known to be noisy."""
        if isinstance(self.acquisition, ExpectedImprovement) and self.model.noisy:
            return NoisyImprovement(self.model.belief.noise_variance)
        return self.acquisition

    def _parameter(self, round: int, rng: np.random.Generator) -> float:
        if not isinstance(self.acquisition, _OF_INCUMBENT):
            return self.acquisition.parameter(round, self._domain, self.model.belief, rng)
        # Improvement over the best that is believed, not over the luckiest value.
        known = self.contenders()
        return float(known.mean[0]) if len(known.mean) else 0.0

    def _design(self, n: int, rng: np.random.Generator) -> Array:
        even = self.space.snap(shifted(sobol(self.space.width, max(n, 2)), rng))
        if isinstance(self.space, Candidates):  # of a table in clumps few rows may be near
            even = np.vstack([even, self.space.sample(rng, 4 * n)])
        even = even[np.sort(np.unique(even, axis=0, return_index=True)[1])]
        rows = [u for u in even if self.admissible(self.space.decode(u))]
        for _ in range(_POOLS if self.constraints else 0):  # of an even design they may leave next to nothing
            if len(rows) >= n:
                break
            rows += [u for u in self.space.sample(rng, 512) if self.admissible(self.space.decode(u))]
        rows = list({u.tobytes(): u for u in rows}.values())[: max(n, 2)]
        return np.array(rows).reshape(len(rows), self.space.width)


def _new(repeats: Callable[[Selection], bool]) -> Callable[[Array], NDArray[np.bool_]]:
    """Which actions are no repeats, however much the model has forgotten of what was told there."""
    return lambda U: np.array([not repeats(Selection(u, math.nan, math.inf, math.nan, None)) for u in U], bool)


class _Domain:
    """The unit cube, or finitely many points of it, as an acquisition knows a set of actions."""

    def __init__(self, dimension: int, size: int | None) -> None:
        self._box, self._size = Box(np.zeros(dimension), np.ones(dimension)), size

    @property
    def dimension(self) -> int:
        return self._box.dimension

    def theoretical_beta(self, round: int, kernel: Kernel, delta: float, events: int = 2) -> float:
        if self._size is not None:
            return finite_beta(self._size, round, delta)
        return self._box.theoretical_beta(round, kernel, delta, events)

    def maximise(
        self,
        acquisition: Acquisition,
        parameter: float,
        belief: Belief,
        rng: np.random.Generator,
        start: Array | None = None,
    ) -> Selection:
        return self._box.maximise(acquisition, parameter, belief, rng, start)

    def maximise_draw(self, belief: Belief, rng: np.random.Generator) -> Selection:
        return self._box.maximise_draw(belief, rng)
