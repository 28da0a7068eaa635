import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    code: str
    printed: str


def first_example(text: str) -> Example | None:
    """The first python block that is followed, before another heading or block, by what it prints."""
    blocks = list(FENCE.finditer(text))
    for code, output in pairwise(blocks):
        between = text[code.end() : output.start()]
        is_output = output["language"] in ("", "text") and not re.search(r"^#", between, re.MULTILINE)
        if code["language"] == "python" and is_output:
            return Example(code["body"], output["body"])
    return None


def test_the_example_is_found_by_its_output() -> None:
    text = (
        "```sh\nls\n```\n```python\n1\n```\n# Next\n```\nno\n```\n```python\nprint(2)\n```\nprints\n```text\n2\n```\n"
    )
    assert first_example(text) == Example("print(2)\n", "2\n")
    assert first_example("```python\n1\n```\n```sh\nls\n```\n") is None


def test_the_example_of_the_readme_prints_what_the_readme_says(tmp_path: Path) -> None:
    example = first_example(README.read_text(encoding="utf-8"))
    if example is None:
        pytest.skip("README.md has no python block followed by its output yet")
    command = [sys.executable, "-W", "error", "-X", "utf8", "-c", example.code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert result.stderr == ""
    assert result.stdout == example.printed
