"""Pages say the truth: python blocks print what stands below them, commands run, links lead somewhere.

Blocks marked `py` need what is not installed here and are not run.
"""

import inspect
import math
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import uncubed
from uncubed.optimizer import DEFAULT_EPSILON
from uncubed.scaling import FARTHEST

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "paper.md")
FENCE = re.compile(r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


class Block(NamedTuple):
    language: str
    file: str | None
    body: str


def blocks(page: Path) -> list[Block]:
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(block["language"], block["file"], block["body"]) for block in found]


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}


def output(command: list[str], directory: Path) -> str:
    result = subprocess.run(
        command, cwd=directory, env=environment(), capture_output=True, encoding="utf-8", timeout=900, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_pages_are_found() -> None:
    assert {"index", "quickstart", "budget", "certificates", "parallel", "resuming", "command-line", "when-not"} <= {
        page.stem for page in PAGES
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    found = blocks(page)
    code = "\n".join(block.body for block in found if block.language == "python" and not block.file)
    said = "".join(after.body for block, after in pairwise(found) if (block[0], after[0]) == ("python", "text"))
    if code:
        assert output([sys.executable, "-c", code], tmp_path) == said


@pytest.mark.skipif(os.name == "nt", reason="the commands are those of a Unix shell")
def test_commands_run(tmp_path: Path) -> None:
    found = blocks(ROOT / "docs" / "command-line.md")
    for block in found:
        if block.file:
            (tmp_path / block.file).write_text(block.body)
    printed = output(["sh", "-ec", "".join(block.body for block in found if block.language == "sh")], tmp_path)
    assert printed.count("best: ") == 4  # two runs, and each study shown
    assert "evaluations: 12\n" in printed
    assert "evaluations: 16\n" in printed
    assert "evaluations: 3, 1 of them failed, 1 pending\n" in printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_are_those_of_the_library(page: Path) -> None:
    names = set(re.findall(r"\buc\.(\w+)", page.read_text(encoding="utf-8")))
    assert names <= set(uncubed.__all__)


def test_defaults_are_those_of_the_library() -> None:
    budget, certificates = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("budget.md", "certificates.md")
    )
    default = math.expm1(2.0 * DEFAULT_EPSILON)
    assert f"exceeds {default:.2g} of the variance" in budget
    assert f"the default is ε = ½ log {1.0 + default:.2g}" in budget
    assert f"max_model_order={inspect.signature(uncubed.Optimizer).parameters['max_model_order'].default}`" in budget
    assert "more than {:g} robust standard deviations worse than the middle, or {:g} better".format(
        *FARTHEST
    ) in " ".join(certificates.split())


def test_every_page_is_in_the_index() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    assert {page.name for page in PAGES} - {"index.md"} <= listed
