import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.fake_study import FakeStudy, failures
from uncubed._html import html
from uncubed.dimensions import Categorical, Float
from uncubed.optimizer import Optimizer
from uncubed.space import Space

LINE = Space({"x": Float(-1.0, 1.0)})


def parsed(study: FakeStudy | Optimizer) -> ET.Element:
    return ET.fromstring(html(study))


def rows(study: FakeStudy | Optimizer) -> dict[str, str]:
    return {row[0].text or "": row[1].text or "" for row in parsed(study).iter("tr")}


def heights(study: FakeStudy) -> list[float]:
    line = next(parsed(study).iter("polyline"))
    return [float(point.split(",")[1]) for point in line.attrib["points"].split()]


def test_what_users_write_is_text() -> None:
    space = Space({"<script>alert(1)</script>": Categorical(["<b>&\"'"]), "x": Float(0.0, 1.0)})
    card = html(FakeStudy(space, np.arange(5.0)))
    assert "<script" not in card
    assert "<b>&" not in card
    assert "<script>alert(1)</script> = <b>&\"'" in rows(FakeStudy(space, np.arange(5.0)))["at"]


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_the_card_has_what_is_known(n: int) -> None:
    study = FakeStudy(LINE, np.arange(float(n)), failures=failures(n + 1))
    shown = rows(study)
    assert shown["evaluations"] == f"{n + 1}, of which 1 failed"
    assert shown["model order"] == str(study.model_order)
    assert ("at" in shown) == (n > 0)
    assert ("certified" in shown) == bool(study.milestones)
    assert len(list(parsed(study).iter("svg"))) == (n > 1)


def test_the_certificate_is_that_of_the_last_milestone() -> None:
    study = FakeStudy(LINE, np.random.default_rng(0).standard_normal(100))
    last = study.milestones[-1]
    assert all(f"{bound:.6g}" in rows(study)["certified"] for bound in (last.lower, last.upper, last.evaluations))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_drawing_shows_the_best_so_far(direction: str) -> None:
    drawn = np.diff(heights(FakeStudy(LINE, np.random.default_rng(1).standard_normal(500), direction)))
    assert (drawn <= 0 if direction == "maximize" else drawn >= 0).all()  # the y of a drawing points down
    assert drawn.any()


def test_a_constant_is_a_line_inside() -> None:
    assert set(heights(FakeStudy(LINE, np.full(9, 7.0)))) == {28.0}


def test_a_long_study_is_no_larger() -> None:
    assert len(html(FakeStudy(LINE, np.random.default_rng(2).standard_normal(100_000)))) < 12_000


def test_an_optimiser_has_a_card() -> None:
    opt = Optimizer({"x": Float(0.0, 1.0)}, seed=0)
    opt.tell({"x": 0.25}, 1.5)
    assert rows(opt)["best"].startswith("1.5 ")
    assert rows(opt)["at"] == "x = 0.25"
