"""A virtual environment for each system, made when it is first needed: their demands contradict each other."""

import subprocess
import sys
from pathlib import Path

from benchmarks.league.registry import ENVIRONMENTS

ROOT = Path(__file__).resolve().parents[2]
WHERE = ROOT / ".venv-league"


def python(name: str) -> Path:
    """The interpreter of an environment, there or not."""
    return WHERE / name / "bin" / "python"


def is_made(name: str) -> bool:
    """It is there, with what it should have today."""
    mark = WHERE / name / ".made"
    return mark.is_file() and mark.read_text() == _demands(name)


def make(name: str) -> None:
    """Install what is needed, if it is not there.

    Raises:
        subprocess.CalledProcessError: pip could not; its output has been printed.
    """
    if is_made(name):
        return
    print(f"Installing {WHERE.name}/{name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(WHERE / name)], check=True)
    pip = [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for demands in ENVIRONMENTS[name]:
        subprocess.run([*pip, *demands], check=True, cwd=ROOT)
    (WHERE / name / ".made").write_text(_demands(name))


def _demands(name: str) -> str:
    return "\n".join(" ".join(demands) for demands in ENVIRONMENTS[name]) + "\n"
