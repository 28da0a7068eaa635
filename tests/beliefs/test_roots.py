import numpy as np
import pytest

from uncubed.beliefs.roots import Roots


@pytest.mark.parametrize("columns", [1, 12, 40])
@pytest.mark.parametrize("M", [1, 2, 7, 40])
def test_the_basis_explains_what_whitening_and_shrinking_explain(M: int, columns: int) -> None:
    rng = np.random.default_rng(M)
    W = np.tril(rng.normal(size=(M, M))) + 2.0 * np.eye(M)
    A = rng.normal(size=(M, M))
    P = np.linalg.inv(1.1 * np.eye(M) + A @ A.T).astype(np.float64)
    mean, K = rng.normal(size=M), rng.normal(size=(M, columns))
    roots = Roots(W, P, mean)
    V = W @ K
    assert roots.basis is not None
    basis = roots.basis
    explained = np.square(basis.whiten(K)).sum(axis=0)
    np.testing.assert_allclose(explained, (V * (V - P @ V)).sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(basis.unwhiten(V), basis.whiten(np.eye(M)).T @ V, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(roots.coefficients @ K, mean @ V, rtol=1e-10, atol=1e-10)


def test_where_nothing_is_known_there_is_no_basis() -> None:
    assert Roots(np.eye(3), np.eye(3), np.zeros(3)).basis is None
