"""Imports between the modules of uncubed point down only, and the core needs NumPy and SciPy only."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import uncubed

ROOT = Path(uncubed.__file__).parent

# From the bottom; a module may import those above its own line only. A module that is not here fails the test.
LAYERS = [
    ["errors", "_typing"],
    ["_validation", "_gaussian", "observations"],
    ["bend"],
    ["kernels"],
    ["rippled"],
    ["cholesky"],
    ["information"],
    ["budget"],
    ["threads"],
    ["beliefs.roots", "beliefs.surface", "beliefs.weights", "region"],
    ["beliefs.base"],
    ["beliefs.exact", "beliefs.projected", "beliefs.sketched"],
    ["beliefs", "dimensions.base"],
    ["dimensions.choices", "dimensions.numbers"],
    ["schedules"],
    ["acquisition", "ascent", "dimensions", "draws", "fit"],
    ["actions", "columns", "fitter", "history", "places", "scaling", "space", "vicinity"],
    ["candidates", "records"],
    ["_shown"],
    ["_html"],
    ["certificate"],
    ["_state"],
    ["journal", "rounds"],
    ["bandit", "model", "search"],
    ["book", "contenders", "table"],
    ["events", "proposer"],
    ["account", "outlook", "scribe"],
    ["optimizer"],
    ["driver"],
    ["progress"],
    ["run"],
    ["plot._frame"],
    ["plot._scale"],
    ["plot._belief", "plot._params", "plot._told"],
    ["plot"],
    [""],  # the package itself
    ["integrations"],
    [
        "integrations._distributions",
        "integrations._sklearn_fits",
        "integrations._sklearn_space",
        "integrations._tune_space",
    ],
    ["integrations._trials"],
    ["integrations.optuna", "integrations.ray", "integrations.sklearn"],
    ["experiments"],
    ["experiments.mnist", "experiments.config"],
    ["experiments.logistic"],
    ["experiments.problems"],
    ["experiments.runner"],
    ["experiments.results", "experiments.pool", "experiments.analysis", "experiments.prose"],
    ["experiments.figures"],
    ["experiments.tables"],
    ["experiments.claims"],
    ["experiments.report"],
    ["experiments.reproduce"],
    ["study"],
    ["commands"],
    ["commands.template", "commands.text"],
    ["commands.program"],
    ["commands.asking", "commands.run", "commands.show"],
    ["cli"],
    ["__main__"],
]
EXTRAS = {
    "threads": {"threadpoolctl"},
    "progress": {"rich"},
    **{f"integrations.{module}": {"optuna"} for module in ("_distributions", "_trials", "optuna")},
    **{f"integrations.{module}": {"ray"} for module in ("_tune_space", "ray")},
    "integrations._sklearn_fits": {"sklearn"},
    "integrations.sklearn": {"joblib", "sklearn"},
    **{f"plot.{module}": {"matplotlib"} for module in ("_frame", "_scale", "_belief", "_params", "_told")},
    "experiments.logistic": {"sklearn"},
    "experiments.mnist": {"sklearn"},
    "experiments.figures": {"matplotlib"},
    "experiments.report": {"markdown_it"},
    "experiments.reproduce": {"rich"},
}
"""Modules that may use more than the core does."""
LEVEL = {module: level for level, modules in enumerate(LAYERS) for module in modules}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
    for path in sorted(ROOT.rglob("*.py"))
}


def imported(source: str, inside: str, *, top_level_only: bool = False) -> Iterator[str]:
    """Absolute dotted names that a module imports; `inside` is its package."""
    tree = ast.parse(source)
    for node in _outside_functions(tree) if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = inside.split(".")[: len(inside.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    if not for_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def uncubed_module(name: str) -> str | None:
    """The module of ours that an imported name lies in, None if it is not ours."""
    first, _, rest = name.partition(".")
    if first != "uncubed":
        return None
    while rest and rest not in MODULES and rest not in LEVEL:
        rest = rest.rpartition(".")[0]
    return rest


def violations(module: str, source: str, inside: str) -> list[str]:
    below = {uncubed_module(name) for name in imported(source, inside)} - {None}
    return sorted(
        f"{module} imports {name}" for name in below if LEVEL.get(name or "", len(LAYERS)) >= LEVEL.get(module, 0)
    )


def package_of(module: str, path: Path) -> str:
    dotted = f"uncubed.{module}".rstrip(".")
    return dotted if path.name == "__init__.py" else dotted.rpartition(".")[0]


def test_every_module_has_its_layer() -> None:
    assert sorted(set(MODULES) - set(LEVEL)) == []


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down_only(module: str) -> None:
    path = MODULES[module]
    assert violations(module, path.read_text(encoding="utf-8"), package_of(module, path)) == []


@pytest.mark.parametrize("module", MODULES)
def test_the_core_imports_numpy_and_scipy_only(module: str) -> None:
    source, inside = MODULES[module].read_text(encoding="utf-8"), package_of(module, MODULES[module])
    core = {*sys.stdlib_module_names, "numpy", "scipy", "uncubed"}
    assert {name.partition(".")[0] for name in imported(source, inside)} <= {*core, *EXTRAS.get(module, ())}
    if not module.startswith(("experiments", "integrations")):
        assert {name.partition(".")[0] for name in imported(source, inside, top_level_only=True)} <= core


def test_the_package_imports_no_experiment() -> None:
    code = "import sys, uncubed, uncubed.cli; sys.exit(any(m.startswith('uncubed.experiments') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        "import uncubed.bandit",
        "from uncubed import bandit",
        "from uncubed.bandit import Bandit",
        "from uncubed import Bandit",
        "from uncubed.beliefs import ExactBelief",
        "from . import bandit",
        "from .beliefs.exact import ExactBelief",
        "def f():\n    from uncubed.beliefs.base import Belief",
        "if True:\n    from uncubed.cholesky import CholeskyFactor",
    ],
)
def test_an_upward_import_is_seen_in_every_form(line: str) -> None:
    assert violations("cholesky", line, "uncubed")
    assert not violations("cholesky", "from uncubed.errors import JitterWarning\nimport numpy", "uncubed")
