"""Tune a regression with scikit-learn's interface, beside a randomised search of the same length.

Needs scikit-learn. Prints what each found with three seeds, in cross-validation and on data that no search saw.
"""

from typing import Any

from scipy.stats import loguniform
from sklearn.datasets import make_friedman1
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR

from uncubed.integrations.sklearn import UncubedSearchCV

DATA = make_friedman1(500, n_features=8, noise=0.5, random_state=0)
X, X_HELD_OUT, Y, Y_HELD_OUT = train_test_split(*DATA, test_size=0.75, random_state=0)
MODEL = Pipeline([("scaler", StandardScaler()), ("svr", SVR())])
SPACE = {
    "scaler": [StandardScaler(), MinMaxScaler()],
    "svr__C": loguniform(1e-2, 1e3),
    "svr__gamma": loguniform(1e-4, 1e1),
    "svr__epsilon": loguniform(1e-3, 1e1),
}


def searches(kind: Any) -> list[Any]:
    return [kind(MODEL, SPACE, n_iter=25, random_state=seed).fit(X, Y) for seed in range(3)]


def main() -> None:
    found = {kind.__name__: searches(kind) for kind in (RandomizedSearchCV, UncubedSearchCV)}
    for name, fitted in found.items():
        scores = ", ".join(f"{search.best_score_:.4f}" for search in fitted)
        held_out = ", ".join(f"{search.score(X_HELD_OUT, Y_HELD_OUT):.4f}" for search in fitted)
        print(f"{name}: R² {scores}; held out {held_out}")
    search = found["UncubedSearchCV"][0]
    print(f"\nbest: {search.best_params_}")
    shares = sorted(search.optimizer_.importance().items(), key=lambda item: -item[1])
    print("what matters: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares))


if __name__ == "__main__":
    main()
