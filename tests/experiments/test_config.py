import tomllib
from dataclasses import fields, replace
from importlib.resources import files
from itertools import chain
from typing import Any

import pytest

from uncubed.experiments import config
from uncubed.experiments.config import EXPERIMENTS, Method, Setting, methods, settings
from uncubed.experiments.problems import DOMAINS
from uncubed.experiments.runner import ACQUISITIONS

COMPARED = ["dense", "dense-unmerged", "relative", "absolute", "schedule", "projected", "bkb"]
QUICK_AND_FULL = pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])


def every(*, quick: bool = False) -> list[Setting]:
    return list(chain.from_iterable(settings(name, quick=quick) for name in EXPERIMENTS))


def by_name(name: str) -> Setting:
    return next(setting for setting in every() if setting.name == name)


def test_every_file_is_toml() -> None:
    names = {path.name for path in files("uncubed.experiments").joinpath("configurations").iterdir()}
    assert {f"{name}.toml" for name in (*EXPERIMENTS, "methods")} <= names
    for name in names:
        assert tomllib.loads(config.source(name.removesuffix(".toml")))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@QUICK_AND_FULL
def test_every_experiment_has_settings_and_a_title(experiment: str, quick: bool) -> None:
    chosen = settings(experiment, quick=quick)
    assert chosen
    assert {setting.experiment for setting in chosen} == {experiment}
    assert config.title(experiment)


@QUICK_AND_FULL
def test_names_are_unique_over_all_experiments_and_their_boxes(quick: bool) -> None:
    names = [name for setting in every(quick=quick) for name in (setting.name, setting.on_box.name)]
    assert len(set(names)) == len(names)


@QUICK_AND_FULL
def test_what_a_setting_names_exists(quick: bool) -> None:
    for setting in every(quick=quick):
        assert setting.methods
        assert setting.acquisitions
        assert set(setting.acquisitions) <= set(ACQUISITIONS)
        assert len(setting.levels) == len(DOMAINS[setting.problem])
        assert len({method.name for method in setting.methods}) == len(setting.methods)
        assert (setting.data in ("digits", "mnist")) == (setting.epochs > 0)


def test_a_method_has_the_numbers_of_its_kind_and_no_others() -> None:
    needs = {"constant": "epsilon", "absolute": "epsilon", "for_horizon": "alpha_p", "keep_all": None}
    needs |= {"projected": "novelty", "sketched": "oversampling", "exact": None, "unmerged": None}
    swept = [method for setting in every() for method in setting.methods]
    for method in [*methods().values(), *swept]:
        expected = {needs[method.belief], needs[method.budget]} - {None}
        numbers = ("epsilon", "alpha_p", "novelty", "oversampling")
        assert {name for name in numbers if getattr(method, name) is not None} == expected


def test_a_sweep_has_a_method_for_every_number() -> None:
    swept = by_name("sweep-example").methods
    for kind, count in (("epsilon", 10), ("alpha_p", 7), ("novelty", 6)):
        values = [getattr(method, kind) for method in swept if getattr(method, kind) is not None]
        assert len(set(values)) == count


# As printed


@pytest.mark.parametrize(
    ("name", "problem", "horizon", "initial"),
    [
        ("example-T200", "example", 200, 1),
        ("example-T1000", "example", 1000, 2),
        ("rosenbrock-raw-T100", "rosenbrock", 100, 2),
        ("rosenbrock-T100", "rosenbrock-standardised", 100, 2),
        ("rosenbrock-raw-T1000", "rosenbrock", 1000, 4),
        ("rosenbrock-T1000", "rosenbrock-standardised", 1000, 4),
        ("logistic-digits", "logistic", 100, 16),
        ("logistic-mnist", "logistic", 100, 16),
    ],
)
def test_horizons_and_initial_points_are_as_printed_and_all_methods_are_compared(
    name: str, problem: str, horizon: int, initial: int
) -> None:
    setting = by_name(name)
    assert (setting.problem, setting.horizon, setting.initial) == (problem, horizon, initial)
    assert setting.acquisitions == ("ucb", "ei", "mpi")
    assert [method.name for method in setting.methods] == COMPARED


def test_noise_length_scale_and_confidence_are_as_printed_everywhere() -> None:
    for setting in every():
        assert (setting.noise_variance, setting.length_scale, setting.delta) == (1e-3, 1.0, 0.1)
        # The noise is the model's; that of training is its own.
        assert setting.noise_std**2 == pytest.approx(0.0 if setting.data else setting.noise_variance, rel=1e-5)


def test_the_compressed_methods_have_the_printed_threshold() -> None:
    assert methods()["relative"].epsilon == methods()["absolute"].epsilon == 1e-4


# Quick


def test_quick_is_a_part_with_shortened_numbers() -> None:
    full = {setting.name: setting for setting in every()}
    chosen = every(quick=True)
    assert len(chosen) < len(full)
    for setting in chosen:
        whole = full[setting.name]
        assert setting.epochs <= whole.epochs
        assert setting == replace(whole, epochs=setting.epochs)


def test_what_quick_does_not_shorten_is_not_run_again_in_full() -> None:
    quick, full = settings("example", quick=True)[0], settings("example")[0]
    assert [quick.digest(method) for method in quick.methods] == [full.digest(method) for method in full.methods]


def test_what_quick_shortens_is_another_run() -> None:
    quick, full = settings("logistic", quick=True)[0], settings("logistic")[0]
    assert quick.epochs < full.epochs
    assert not {quick.digest(m) for m in quick.methods} & {full.digest(m) for m in full.methods}


def test_several_horizons_or_sizes_are_a_family() -> None:
    horizons = [setting for setting in settings("tradeoff") if setting.family == "cost-rounds"]
    assert [setting.horizon for setting in horizons] == [100, 316, 1000, 3162]
    sizes = [setting for setting in settings("tradeoff") if setting.family == "cost-actions"]
    assert [setting.levels for setting in sizes] == [(500,), (2000,), (8000,), (32000,)]
    assert settings("example")[0].family == settings("example")[0].name


# Digests

SETTING = settings("example")[0]
METHOD = Method("a", "b", "exact", "constant", 0.1, 0.2, 0.3, 0.4)

OTHER_RUN: dict[str, Any] = {
    "problem": "rosenbrock",
    "levels": (501,),
    "horizon": 201,
    "initial": 2,
    "noise_variance": 2e-3,
    "noise_std": 0.04,
    "length_scale": 1.5,
    "delta": 0.05,
    "data": "digits",
    "epochs": 1,
    "box": True,
}
SAME_RUN: dict[str, Any] = {
    "experiment": "tradeoff",
    "name": "another",
    "title": "another",
    "acquisitions": ("ucb",),
    "methods": (),
    "seeds": 3,
}
OTHER_METHOD: dict[str, Any] = {
    "belief": "unmerged",
    "budget": "absolute",
    "epsilon": 0.11,
    "alpha_p": 0.21,
    "novelty": 0.31,
    "oversampling": 0.41,
}
SAME_METHOD: dict[str, Any] = {"name": "another", "label": "another"}


def test_every_field_is_known_to_change_a_run_or_not() -> None:
    assert {field.name for field in fields(Setting)} == {*OTHER_RUN, *SAME_RUN}
    assert {field.name for field in fields(Method)} == {*OTHER_METHOD, *SAME_METHOD}


def test_a_digest_changes_with_everything_that_changes_a_run() -> None:
    digests = {SETTING.digest(METHOD)}
    digests |= {replace(SETTING, **{name: value}).digest(METHOD) for name, value in OTHER_RUN.items()}
    digests |= {SETTING.digest(replace(METHOD, **{name: value})) for name, value in OTHER_METHOD.items()}
    assert len(digests) == 1 + len(OTHER_RUN) + len(OTHER_METHOD)


@pytest.mark.parametrize("name", SAME_RUN)
def test_a_digest_does_not_change_with_words(name: str) -> None:
    assert getattr(SETTING, name) != SAME_RUN[name]
    assert replace(SETTING, **{name: SAME_RUN[name]}).digest(METHOD) == SETTING.digest(METHOD)


@pytest.mark.parametrize("name", SAME_METHOD)
def test_a_digest_does_not_change_with_a_method_s_words(name: str) -> None:
    assert SETTING.digest(replace(METHOD, **{name: SAME_METHOD[name]})) == SETTING.digest(METHOD)


def test_the_methods_of_a_setting_are_different_runs() -> None:
    for setting in every():
        assert len({setting.digest(method) for method in setting.methods}) == len(setting.methods)


def test_on_the_box_only_words_and_the_box_differ() -> None:
    box = SETTING.on_box
    assert (box.box, SETTING.box) == (True, False)
    assert box.name != SETTING.name
    assert box.title != SETTING.title
    assert box == replace(SETTING, box=True, name=box.name, title=box.title)
    assert box.digest(METHOD) != SETTING.digest(METHOD)
