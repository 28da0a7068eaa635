import base64
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from tests.experiments.test_analysis import every_row, made
from tests.experiments.test_figures import SETTINGS, rows_of
from uncubed import cli
from uncubed.experiments import config, report, tables
from uncubed.experiments.claims import claims
from uncubed.experiments.config import EXPERIMENTS, settings
from uncubed.experiments.results import group
from uncubed.experiments.runner import Row

EXAMPLE = SETTINGS["example-T200"]
COMMAND = "uncubed reproduce all --seeds 2"
VOID = {"meta", "img", "hr", "br"}


@dataclass(frozen=True)
class Written:
    """A report as it is on disk."""

    out: Path

    @property
    def text(self) -> str:
        return (self.out / "report.md").read_text(encoding="utf-8")

    @property
    def page(self) -> str:
        return (self.out / "report.html").read_text(encoding="utf-8")

    @property
    def figures(self) -> list[tuple[str, str]]:
        """File and caption of each."""
        return re.findall(r"^!\[[^\]]+\]\(([^)]+)\)\n\n\*(.+)\*$", self.text, re.MULTILINE)

    @property
    def tables(self) -> list[list[list[str]]]:
        """The cells of every line but the rule, of every table."""
        blocks = re.findall(r"(?:^\|.*\|$\n?)+", self.text, re.MULTILINE)
        split = [[line.strip("|").split("|") for line in block.splitlines()] for block in blocks]
        assert all(set("".join(lines[1])) <= set(" :-") for lines in split)
        return [[lines[0], *lines[2:]] for lines in split]


def written(out: Path, rows: list[Row], *, quick: bool = False) -> Written:
    assert report.write(out, rows, quick=quick, command=COMMAND) == out / "report.html"
    return Written(out)


@pytest.fixture(autouse=True, scope="module")
def unrendered() -> Iterator[None]:
    """What is in a figure is tested elsewhere; here its name stands for it."""

    def save(self: Figure, path: Path, **_: Any) -> None:
        path.write_bytes(f"{path.name}, {len(self.axes)} panels".encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", save)
        yield


ALL = rows_of([*SETTINGS.values()])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(tmp_path_factory.mktemp("whole"), ALL)


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


# What is gathered


def gathered(rows: list[Row], *, quick: bool = False) -> report.Findings:
    return report.gather(Path("nowhere"), rows, quick=quick)


def test_rows_of_other_configurations_are_left_out() -> None:
    good = every_row(EXAMPLE)
    longer = every_row(replace(EXAMPLE, horizon=201))
    renamed = [row | {"setting": "example-T201"} for row in good]
    unknown = [row | {"method": "kernel-free"} for row in good]
    swapped = [made(EXAMPLE, method="dense") | {"method": "absolute"}]
    findings = gathered([*longer, *good, *renamed, *unknown, *swapped])
    assert findings.settings == [EXAMPLE]
    assert findings.groups == group(good)
    assert not gathered([*longer, *renamed, *unknown, *swapped]).settings


def test_all_settings_and_their_boxes_are_known() -> None:
    boxes = [setting.on_box for setting in SETTINGS.values() if setting.experiment != "tradeoff"]
    findings = gathered([every_row(setting)[0] for setting in [*SETTINGS.values(), *boxes]])
    assert findings.settings == [*SETTINGS.values(), *boxes]
    assert [setting.name for setting in findings.of("example")] == [
        "example-T200",
        "example-T1000",
        "example-T200-box",
        "example-T1000-box",
    ]
    assert [setting.horizon for setting in findings.family("cost-rounds")] == [100, 316, 1000, 3162]


def test_what_quick_shortens_is_not_shown_as_the_whole() -> None:
    quick, full = (next(s for s in settings("logistic", quick=q) if s.name == "logistic-digits") for q in (True, False))
    rows = every_row(quick) + every_row(full)
    for setting, is_quick in ((quick, True), (full, False)):
        findings = gathered(rows, quick=is_quick)
        assert findings.settings == [setting]
        assert findings.groups == group(every_row(setting))


# What is written


def test_without_rows_the_report_says_so(tmp_path: Path) -> None:
    empty = written(tmp_path, [])
    assert "no runs yet" in empty.text
    assert COMMAND in empty.text
    assert not empty.figures
    assert not empty.tables
    assert not Page(empty.page).open
    assert not (tmp_path / "figures").exists()


ALONE = [
    "example-T200",
    "rosenbrock-raw-T1000",
    "logistic-digits",
    "logistic-raw-units",
    "sweep-example",
    "growth-example@T316",
    "cost-rounds@T100",
    "cost-actions@N500",
]


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("some", ["all methods and acquisitions", "one method, one seed"])
def test_one_setting_is_enough(name: str, some: str, tmp_path: Path) -> None:
    setting, rows = SETTINGS[name], rows_of([SETTINGS[name]])
    if some == "one method, one seed":
        last = setting.methods[-1].name
        rows = [row for row in rows if row["seed"] == 1 and row["method"] in (last, "epsilon-1")]
    one = written(tmp_path, rows)
    heads = re.findall(r"^## (.+)$", one.text, re.MULTILINE)
    titles = [config.title(experiment) for experiment in EXPERIMENTS]
    assert [head for head in heads if head in titles] == [config.title(setting.experiment)]
    assert {caption.split(" in `")[0].split("`, ")[-1] for _, caption in one.figures} <= {setting.family}
    assert f"{len(rows)} runs" in one.text
    assert not Page(one.page).open


def test_the_whole_report_has_every_part_once(whole: Written) -> None:
    heads = re.findall(r"^#+ (.+)$", whole.text, re.MULTILINE)
    assert len(set(heads)) == len(heads)
    shown = [s for s in SETTINGS.values() if s.experiment != "tradeoff"]
    for title in [config.title(name) for name in EXPERIMENTS] + [s.title[0].upper() + s.title[1:] for s in shown]:
        assert title in heads
    assert f"{len(ALL):,} runs, seeds 0 to 1" in whole.text
    assert "machine abacus" in whole.text


def test_every_claim_is_in_the_report_with_its_outcome(whole: Written) -> None:
    lines = [[cell.strip() for cell in line] for line in whole.tables[0][1:]]
    found = [[claim.statement, claim.found, "yes" if claim.holds else "**no**"] for claim in claims(group(ALL))]
    assert lines == found
    assert {line[-1] for line in lines} == {"yes", "**no**"}


def test_every_table_has_as_many_cells_in_each_line(whole: Written) -> None:
    assert len(whole.tables) > 30
    for lines in whole.tables:
        assert len({len(cells) for cells in lines}) == 1
        assert len(lines) > 1


def test_what_was_read_off_the_figures_is_there(whole: Written) -> None:
    said = [line for line in whole.text.splitlines() if line.startswith("UCB at the horizon, beside one run")]
    assert len(said) == len(tables.printed())


# Figures


def test_every_figure_is_there_and_shown_once(whole: Written) -> None:
    shown = [name for name, _ in whole.figures]
    assert len(set(shown)) == len(shown) == whole.text.count("![")
    assert sorted(shown) == sorted(f"figures/{path.name}" for path in (whole.out / "figures").iterdir())
    compared = [
        s.name for s in SETTINGS.values() if any(m.name == "dense-unmerged" for m in s.methods) and "@" not in s.name
    ]
    assert {f"figures/{name}.png" for name in [*compared, "tradeoff", "growth", "cost"]} <= set(shown)


def test_every_caption_names_command_configuration_and_seeds(whole: Written) -> None:
    for name, caption in whole.figures:
        command, names, file = re.findall(r"Made by `(uncubed reproduce [^`]+)`, (.+) in `(.+)\.toml`, ", caption)[0]
        asked = cli.parser().parse_args(shlex.split(command)[1:])
        assert asked.experiment == file
        assert set(names.split(", ")) <= {setting.family for setting in settings(file)}
        assert (asked.data == "mnist") == ("mnist" in name)
        assert caption.endswith("seeds 0 to 1.")


def test_a_box_is_asked_for_with_box(tmp_path: Path) -> None:
    box = written(tmp_path, every_row(EXAMPLE.on_box))
    assert [name for name, _ in box.figures] == ["figures/example-T200-box.png"]
    assert "`uncubed reproduce example --box`" in box.figures[0][1]


def test_a_quick_figure_is_asked_for_with_quick(tmp_path: Path) -> None:
    digits = next(s for s in settings("logistic", quick=True) if s.name == "logistic-digits")
    quick = written(tmp_path, every_row(digits), quick=True)
    assert "`uncubed reproduce logistic --quick`" in quick.figures[0][1]


def test_the_seeds_of_a_family_are_those_of_all_its_settings(tmp_path: Path) -> None:
    first, second, *_ = (setting for setting in SETTINGS.values() if setting.family == "growth-example")
    family = written(tmp_path, every_row(first) + every_row(second, seeds=range(5)))
    assert family.figures[0][1].endswith("seeds 0 to 4.")


def test_a_quick_report_has_certificates_of_both_functions(tmp_path: Path) -> None:
    rows = [row for name in ("example", "rosenbrock") for s in settings(name, quick=True) for row in every_row(s)]
    shown = [name for name, _ in written(tmp_path, rows, quick=True).figures]
    assert {f"figures/certificates-{name}.png" for name in ("example-T200", "rosenbrock-T100")} <= set(shown)


# The page


def test_the_page_has_everything_in_it(whole: Written) -> None:
    page = Page(whole.page)
    assert not page.open
    assert not {"link", "script", "iframe", "object"} & set(page.tags)
    assert all(address.startswith("data:image/png;base64,") for address in page.addresses)
    inlined = [base64.b64decode(address.partition(",")[2]) for address in page.addresses]
    assert inlined == [(whole.out / name).read_bytes() for name, _ in whole.figures]
    assert "url(" not in whole.page
    assert "@import" not in whole.page


def test_every_table_is_one_on_the_page(whole: Written) -> None:
    tags = Page(whole.page).tags
    assert tags.count("table") == len(whole.tables)
    assert tags.count("tr") == sum(len(lines) for lines in whole.tables)
    assert tags.count("th") + tags.count("td") == sum(len(cells) for lines in whole.tables for cells in lines)


def test_no_path_of_the_machine_is_in_it(whole: Written) -> None:
    for text in (whole.text, whole.page):
        assert str(whole.out) not in text
        assert str(Path.cwd()) not in text
        assert str(Path.home()) not in text


def test_the_same_rows_in_any_order_give_the_same_report(tmp_path: Path) -> None:
    rows = every_row(EXAMPLE)
    once = written(tmp_path, rows)
    text, page = once.text, once.page
    assert written(tmp_path, rows[::-1]).text == text
    assert written(tmp_path / "elsewhere", rows).text == text
    assert once.page == page
