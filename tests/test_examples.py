"""Examples run as they stand, in a directory of their own, and what they print is worth showing."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LONGEST = 60


def printed(name: str, directory: Path) -> str:
    command = [sys.executable, "-W", "error", "-X", "utf8", str(EXAMPLES / name)]
    result = subprocess.run(command, cwd=directory, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, f"expected {pattern} in {text}"
    return float(found[1])


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py") if path.stem != "example_function"))
def test_it_is_short_and_says_what_it_shows(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < LONGEST
    assert text.startswith('"""')
    assert f"def test_{Path(name).stem}(" in Path(__file__).read_text(encoding="utf-8")


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_scikit_learn(tmp_path: Path) -> None:
    text = printed("scikit_learn.py", tmp_path)
    assert number(r"held-out accuracy, tuned: (\S+)", text) > 0.93
    assert number(r"held-out accuracy, first guess: (\S+)", text) < 0.8
    shares = [float(share) for share in re.findall(r"(\d+) %", text)]
    assert sum(shares) == pytest.approx(100, abs=2)


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_search_cv(tmp_path: Path) -> None:
    lines = re.findall(r"SearchCV: R² (.+); held out", printed("search_cv.py", tmp_path))
    random, ours = (sum(map(float, line.split(", "))) for line in lines)
    assert ours > random


@pytest.mark.skipif(find_spec("optuna") is None, reason="Optuna is not installed")
def test_optuna_study(tmp_path: Path) -> None:
    text = printed("optuna_study.py", tmp_path)
    assert number(r"stopped after (\d+) of 200", text) < 200
    assert number(r"best: (\S+)", text) < 1.2


@pytest.mark.cluster
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_ray_tune(tmp_path: Path) -> None:
    assert number(r"rmse (\d+\.\d+)", printed("ray_tune.py", tmp_path)) < 0.13


@pytest.mark.cluster
@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
def test_dask_cluster(tmp_path: Path) -> None:
    text = printed("dask_cluster.py", tmp_path)
    assert "a worker was killed: True" in text
    assert number(r"begun: (\d+)", text) > number(r"told: (\d+)", text) == 60
    assert number(r"best: (\S+) at", text) < 0.5


def test_command_line(tmp_path: Path) -> None:
    text = printed("command_line.py", tmp_path)
    assert number(r"best: (\d+)", text) < number(r"the default options: (\d+) bytes", text)
    assert number(r"evaluations: (\d+)", text) == 40
    assert number(r"(\d+) × exit code 1: .*Invalid or unsupported options", text) >= 1
    assert "# exit code" in text.split("what the compressor said")[1]


def test_table_of_candidates(tmp_path: Path) -> None:
    text = printed("table_of_candidates.py", tmp_path)
    assert number(r"rank among all 40000: (\d+)", text) <= 100
    assert number(r"after 60 more: (\S+),", text) > number(r"measured before: (\S+),", text)


def test_parallel_simulator(tmp_path: Path) -> None:
    text = printed("parallel_simulator.py", tmp_path)  # order and noise differ each time
    believed, found = number(r"believed to cost (\S+) ±", text), number(r"more runs there: (\S+) ±", text)
    assert found < 34.0  # 31 is the least, and 60 no rarity
    assert believed == pytest.approx(found, abs=2.0)


def test_resumed(tmp_path: Path) -> None:
    text = printed("resumed.py", tmp_path)
    assert "ended with code 1" in text
    assert "resumed: 21 more evaluations, 40 in all" in text
    assert "bit for bit: True" in text
    assert number(r"best .* (\S+) \(the true", text) < 0.5
