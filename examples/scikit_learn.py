"""Tune a support vector machine by cross-validation, and check what was found on data that the search never saw.

Needs scikit-learn. Begins with a guess; prints each improvement, and then what the held-out data say.
"""

from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVC

import uncubed as uc

SCALERS = {"none": "passthrough", "standard": StandardScaler(), "robust": RobustScaler()}
SPACE = {
    "scaler": uc.Categorical(list(SCALERS)),
    "C": uc.Float(1e-2, 1e4, log=True),
    "gamma": uc.Float(1e-6, 1e1, log=True),
    "shrinking": uc.Bool(),
}
GUESS = {"scaler": "none", "C": 1.0, "gamma": 1e-2, "shrinking": True}
X, X_HELD_OUT, Y, Y_HELD_OUT = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.4, random_state=0)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)  # the same for all, so that they compare


def model(params: dict[str, Any]) -> Pipeline:
    machine = SVC(C=params["C"], gamma=params["gamma"], shrinking=params["shrinking"])
    return Pipeline([("scaler", SCALERS[params["scaler"]]), ("machine", machine)])


def accuracy(params: dict[str, Any]) -> float:
    return float(cross_val_score(model(params), X, Y, cv=FOLDS).mean())


def main() -> None:
    opt = uc.Optimizer(SPACE, direction="maximize", evaluations=60, seed=0)
    opt.enqueue(GUESS)
    highest = 0.0
    while opt.done is None:
        suggestion = opt.ask()
        value = accuracy(suggestion.params)
        opt.tell(suggestion, value)
        if value > highest:
            highest = value
            print(f"{opt.evaluations:3}  {value:.3f}  {suggestion.params}")
    print(f"\nstopped: {opt.done}\nbest: {opt.best.params}, believed {opt.best.mean:.3f} ± {opt.best.std:.3f}")
    for name, params in (("tuned", opt.best.params), ("first guess", GUESS)):
        print(f"held-out accuracy, {name}: {model(params).fit(X, Y).score(X_HELD_OUT, Y_HELD_OUT):.3f}")
    shares = sorted(opt.importance().items(), key=lambda item: -item[1])
    print("what matters: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares))


if __name__ == "__main__":
    main()
