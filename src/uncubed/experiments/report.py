"""report.md and report.html from the rows of a directory."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import final

from markdown_it import MarkdownIt

from uncubed.experiments import figures, prose, tables
from uncubed.experiments.claims import claims
from uncubed.experiments.config import EXPERIMENTS, Setting, settings, title
from uncubed.experiments.results import group
from uncubed.experiments.runner import Row, key_of

FIGURES = "figures"


@final
@dataclass(frozen=True, eq=False)
class Findings:
    """What a report is made from: the settings that have rows, and the rows."""

    out: Path
    quick: bool
    settings: Sequence[Setting]
    groups: figures.Groups

    def of(self, experiment: str) -> list[Setting]:
        """The settings of an experiment that have rows."""
        return [setting for setting in self.settings if setting.experiment == experiment]

    def family(self, name: str) -> list[Setting]:
        """The settings that come from one entry of a file."""
        return [setting for setting in self.settings if setting.family == name]

    def figure(self, name: str, caption: str, draw: Callable[[Path], None]) -> str:
        """Draw a figure; the Markdown that shows it."""
        draw(self.out / FIGURES / f"{name}.png")
        alternative = caption.partition(".")[0]
        return f"![{alternative}]({FIGURES}/{name}.png)\n\n*{caption}*"


def write(out: Path, rows: Sequence[Row], *, quick: bool, command: str) -> Path:
    """Write both pages and the figures; where the HTML page is."""
    for old in (out / FIGURES).glob("*.png"):
        old.unlink()
    findings = gather(out, rows, quick=quick)
    text = "\n\n".join(sections(findings, command)) + "\n"
    (out / "report.md").write_text(text, encoding="utf-8")
    page = out / "report.html"
    page.write_text(as_html(text, out), encoding="utf-8")
    return page


def gather(out: Path, rows: Sequence[Row], *, quick: bool) -> Findings:
    """The rows that the configurations of now would give, and their settings; rows of other numbers are left out."""
    known = [setting for experiment in EXPERIMENTS for setting in settings(experiment, quick=quick)]
    known += [setting.on_box for setting in known if setting.experiment != "tradeoff"]
    digests = {(s.name, method.name): s.digest(method) for s in known for method in s.methods}
    current = [row for row in rows if digests.get((row["setting"], row["method"])) == row["configuration"]]
    there = {row["setting"] for row in current}
    return Findings(out, quick, [setting for setting in known if setting.name in there], group(current))


def sections(findings: Findings, command: str) -> Iterator[str]:
    """The parts of the report."""
    rows = [row for some in findings.groups.values() for row in some]
    yield prose.head(command, sorted(rows, key=key_of))
    if not rows:
        return
    yield _claims(findings)
    yield prose.INFERRED
    yield prose.EPSILON
    for experiment in ("example", "rosenbrock", "logistic"):
        if findings.of(experiment):
            yield from _experiment(findings, experiment)
    yield from _certificates(findings)
    if findings.of("tradeoff"):
        yield from _tradeoff(findings)
    yield prose.DIFFERENCES
    yield prose.REPEAT


def _claims(findings: Findings) -> str:
    lines = [(c.statement, c.found, "yes" if c.holds else "**no**") for c in claims(findings.groups)]
    return "## What was claimed, and what came out\n\n" + tables.table(["claim", "found", "holds"], lines, words=True)


def _experiment(findings: Findings, experiment: str) -> Iterator[str]:
    yield f"## {title(experiment)}"
    yield prose.ABOUT[experiment]
    for setting in findings.of(experiment):
        compared = _has_dense_as_printed(setting)
        yield f"### {_sentence(setting.title)}"
        if compared:
            draw = _drawing(figures.nine_panels, setting, findings)
            yield findings.figure(setting.name, _caption(findings, setting), draw)
        yield tables.results(setting, findings.groups)
        yield from _published(findings, setting)
        if compared:
            yield from _clock(findings, setting)
    yield f"### {title(experiment)}: evaluations saved, and frozen rounds"
    yield tables.frozen(findings.of(experiment), findings.groups)


def _has_dense_as_printed(setting: Setting) -> bool:
    """Whether it is a comparison of all methods, not a smaller one beside it."""
    return any(method.name == "dense-unmerged" for method in setting.methods)


def _clock(findings: Findings, setting: Setting) -> Iterator[str]:
    yield "Clock time of a run with its initial points:"
    yield tables.clock(setting, findings.groups)
    if setting.data and all((setting.name, name, "dense") in findings.groups for name in setting.acquisitions):
        yield "Where that time goes:"
        yield tables.training(setting, findings.groups)


def _published(findings: Findings, setting: Setting) -> Iterator[str]:
    entry = tables.printed().get(setting.name)
    if entry:
        yield "UCB at the horizon, beside one run of the earlier version, read off its figures:"
        yield tables.published(setting, findings.groups, entry)


def _certificates(findings: Findings) -> Iterator[str]:
    compared = [s for s in findings.settings if s.experiment != "tradeoff" and _has_dense_as_printed(s)]
    shown = [setting for setting in compared if not setting.box]
    longest = [s for s in shown if s.horizon == max(other.horizon for other in shown if other.problem == s.problem)]
    if not longest:
        return
    yield prose.CERTIFICATES
    for setting in longest:
        yield f"### {_sentence(setting.title)}: bounds"
        caption = f"Cumulative regret and its bounds, compressed with α = 1/(2p). {_source(findings, setting)}"
        draw = _drawing(lambda s, g, path: figures.certificates(s, g, "schedule", path), setting, findings)
        yield findings.figure(f"certificates-{setting.name}", caption, draw)
        yield tables.bounds(setting, findings.groups)
        yield tables.coverage(setting, findings.groups)
    yield prose.PRINTED_BOUNDS


def _tradeoff(findings: Findings) -> Iterator[str]:
    yield f"## {title('tradeoff')}"
    sweeps = [s for s in findings.of("tradeoff") if s.family.startswith("sweep")]
    if sweeps:
        yield prose.SWEEP
        caption = (
            f"Regret against model order and against evaluations; bars are 95 % intervals. {_source(findings, *sweeps)}"
        )
        yield findings.figure("tradeoff", caption, lambda path: figures.tradeoff(sweeps, findings.groups, path))
        for setting in sweeps:
            yield f"{_sentence(setting.title)}:"
            yield tables.sweep(setting, findings.groups)
    yield from _growth(findings)
    yield from _cost(findings)


def _growth(findings: Findings) -> Iterator[str]:
    families = [family for name in ("growth-example", "growth-rosenbrock") if (family := findings.family(name))]
    if not families:
        return
    yield prose.GROWTH
    caption = f"Regret and model order as the horizon grows. {_source(findings, *chain(*families))}"
    yield findings.figure("growth", caption, lambda path: figures.growth(families, findings.groups, path))
    for family in families:
        horizons = f"T = {family[0].horizon:,} … {family[-1].horizon:,}"
        yield f"Growth exponents, {family[0].title}, {horizons}:"
        yield tables.exponents(family, findings.groups)


def _cost(findings: Findings) -> Iterator[str]:
    families = {
        label: family
        for label, name in (("horizon T", "cost-rounds"), ("actions |X|, T = 1,000", "cost-actions"))
        if (family := findings.family(name))
    }
    if not families:
        return
    yield prose.COST
    caption = f"Clock time per round, mean over a run. {_source(findings, *chain(*families.values()))}"
    yield findings.figure("cost", caption, lambda path: figures.cost(families, findings.groups, path))
    for label, family in families.items():
        yield tables.cost(family, findings.groups, "actions" if label.startswith("actions") else "rounds")


def _drawing(
    draw: Callable[[Setting, figures.Groups, Path], None], setting: Setting, findings: Findings
) -> Callable[[Path], None]:
    return lambda path: draw(setting, findings.groups, path)


def _caption(findings: Findings, setting: Setting) -> str:
    return (
        f"{_sentence(setting.title)}. Top: mean average regret over rounds. Middle: over clock time, where alone "
        "unmerged repeats show. Bottom: model order. Mean and 95 % band over seeds. "
        f"{_source(findings, setting)}"
    )


def _source(findings: Findings, *shown: Setting) -> str:
    """The command, the configuration and the seeds behind a figure."""
    seeds = sorted({row["seed"] for key, rows in findings.groups.items() if key[0] in _names(shown) for row in rows})
    first = shown[0]
    quick = " --quick" if findings.quick else ""
    data = " --data mnist" if first.data == "mnist" else ""
    box = " --box" if first.box else ""
    names = ", ".join(dict.fromkeys(setting.family for setting in shown))
    return (
        f"Made by `uncubed reproduce {first.experiment}{quick}{data}{box}`, {names} in `{first.experiment}.toml`, "
        f"seeds {seeds[0]} to {seeds[-1]}."
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _names(shown: Iterable[Setting]) -> set[str]:
    return {setting.name for setting in shown}


def as_html(markdown: str, out: Path) -> str:
    """One page with everything in it."""
    body = MarkdownIt("commonmark").enable("table").render(markdown)
    body = re.sub(r'src="([^"]+\.png)"', lambda found: f'src="{_inline(out / found[1])}"', body)
    heading = markdown.partition("\n")[0].removeprefix("# ")
    return prose.PAGE.format(title=heading, body=body)


def _inline(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
