"""BoTorch by its closed-loop tutorial: SingleTaskGP, qLogNoisyExpectedImprovement, `optimize_acqf`.

A first Sobol design of ten points, or 2 d where that is more; 256 quasi-random samples, 512 raw samples, 10 restarts.
Tables have labels one-hot and `optimize_acqf_mixed_alternating` with its defaults, as in Ax: a fit of the mixed model
took 12 s of CPU at 60 values. The recommendation is the point told of the best posterior mean.
"""

import warnings
from functools import partial
from typing import Any, final

import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import ChainedInputTransform, Normalize, NumericToCategoricalEncoding
from botorch.optim import optimize_acqf
from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch.nn.functional import one_hot

from benchmarks.league.protocol import GRID, LABEL, Point, Space, System

warnings.filterwarnings("ignore")


@final
class Botorch(System):
    packages = ("botorch", "gpytorch", "torch", "numpy")

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        torch.manual_seed(seed)
        d = len(space.dimensions)
        engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed)
        self._first = [space.at(u) for u in engine.draw(max(10, 2 * d)).tolist()]
        self._points: list[Point] = []
        self._values: list[float] = []
        self._bounds = torch.tensor([[0.0, max(d.size - 1, 1)] for d in space.dimensions], dtype=torch.double).T

    def ask(self) -> Point:
        if len(self._values) < len(self._first):
            return self._first[len(self._values)]
        sampler = SobolQMCNormalSampler(torch.Size([256]), seed=int(torch.randint(2**31, (1,))))
        acquisition = qLogNoisyExpectedImprovement(self._fitted(), self._told(), sampler=sampler, prune_baseline=True)
        best = self._best(acquisition)[0].tolist()
        return self.space.listed(self.space.named(best))

    def tell(self, point: Point, value: float) -> None:
        self._points.append(point)
        self._values.append(-value)

    def recommend(self) -> Point:
        model = self._fitted()
        with torch.no_grad():
            mean = model.posterior(self._told()).mean
        return self._points[int(mean.argmax())]

    def _told(self) -> Any:
        return torch.tensor(self._points, dtype=torch.double)

    def _kind(self, kind: str) -> dict[int, list[int]]:
        return {k: list(range(d.size)) for k, d in enumerate(self.space.dimensions) if d.kind == kind}

    def _fitted(self) -> Any:
        y = torch.tensor(self._values, dtype=torch.double)[:, None]
        model = SingleTaskGP(self._told(), y, input_transform=self._encoding())
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _encoding(self) -> Any:
        """Grids scaled to [0, 1], labels one-hot; None where nothing is to be done."""
        width, labels = len(self.space.dimensions), {k: len(v) for k, v in self._kind(LABEL).items()}
        parts: dict[str, Any] = {}
        if grids := list(self._kind(GRID)):
            parts["grids"] = Normalize(width, indices=grids, bounds=self._bounds)
        if labels:
            encoders = {k: partial(one_hot, num_classes=size) for k, size in labels.items()}
            parts["labels"] = NumericToCategoricalEncoding(width, labels, encoders)
        return ChainedInputTransform(**parts) if parts else None

    def _best(self, acquisition: Any) -> Any:
        if self.space.is_box:
            options = {"batch_limit": 5, "maxiter": 200}
            return optimize_acqf(acquisition, self._bounds, q=1, num_restarts=10, raw_samples=512, options=options)[0]
        return optimize_acqf_mixed_alternating(
            acquisition, self._bounds, discrete_dims=self._kind(GRID), cat_dims=self._kind(LABEL)
        )[0]
