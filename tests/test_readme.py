import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

README = Path(__file__).parents[1] / "README.md"
FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\b\d+(?:\.\d+)?")


class Example(NamedTuple):
    code: str
    printed: str


def examples(text: str) -> list[Example]:
    """The python blocks that are followed, before another heading or block, by what they print."""
    blocks, found = list(FENCE.finditer(text)), []
    for code, output in pairwise(blocks):
        between = text[code.end() : output.start()]
        is_output = output["language"] in ("", "text") and not re.search(r"^#", between, re.MULTILINE)
        if code["language"] == "python" and is_output:
            found.append(Example(code["body"], output["body"]))
    return found


def test_the_example_is_found_by_its_output() -> None:
    text = (
        "```sh\nls\n```\n```python\n1\n```\n# Next\n```\nno\n```\n```python\nprint(2)\n```\nprints\n```text\n2\n```\n"
    )
    assert examples(text) == [Example("print(2)\n", "2\n")]
    assert examples("```python\n1\n```\n```sh\nls\n```\n") == []


@pytest.mark.parametrize("example", examples(README.read_text(encoding="utf-8")), ids=["optimiser", "bandit"])
def test_the_examples_of_the_readme_print_what_the_readme_says(example: Example, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-X", "utf8", "-c", example.code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert result.stderr == ""
    assert NUMBER.sub("#", result.stdout) == NUMBER.sub("#", example.printed)
    numbers = [list(map(float, NUMBER.findall(text))) for text in (result.stdout, example.printed)]
    # Another processor rounds otherwise, and the search takes another way to the same place.
    assert numbers[0] == pytest.approx(numbers[1], rel=0.5)
