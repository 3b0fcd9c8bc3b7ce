"""The cost model's constants: from the package's file, or the user's."""

import json

import pytest

from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.costs import (
    BUILT_IN_COSTS,
    load_costs,
    read_costs,
)
from sparray.errors import SettingError


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file of constants and name it in the environment."""

    def written(content):
        path = tmp_path / "costs.json"
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text)
        monkeypatch.setenv("SPARRAY_COSTS", str(path))

    return written


def test_the_packages_constants_have_meanings_and_provenance(monkeypatch):
    monkeypatch.delenv("SPARRAY_COSTS", raising=False)
    costs = load_costs()
    assert costs == read_costs(BUILT_IN_COSTS)
    assert costs.values["leaf"] == 1
    assert set(costs.provenance) == {"cpu", "compiler", "date", "how"}
    assert all(costs.meanings[name] for name in costs.values)
    assert set(COSTS) == set(costs.values)


def test_the_users_constants_replace_those_that_they_name(write):
    write({"provenance": {"cpu": "mine"}, "costs": {"sort": {"value": 9}}})
    costs = load_costs()
    assert costs.values["sort"] == 9
    assert costs.values["loop"] == read_costs(BUILT_IN_COSTS).values["loop"]
    assert costs.provenance == {"cpu": "mine"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "expected a file with provenance and costs"),
        ({}, "expected a file with provenance and costs"),
        ({"provenance": {}, "costs": {"leaf": 1}}, "expected a file with"),
        ({"provenance": {}, "costs": {"bogus": {"value": 1}}}, "bogus"),
        ({"provenance": {}, "costs": {"leaf": {"value": 0}}}, "positive leaf"),
        ({"provenance": {}, "costs": {"leaf": {"value": "1"}}}, "a number for leaf"),
        ('{"provenance": {}, "costs": {"leaf": {"value": NaN}}}', "positive leaf"),
    ],
)
def test_unusable_files_are_refused_by_name(write, content, message):
    write(content)
    with pytest.raises(SettingError, match=message):
        load_costs()


def test_a_missing_file_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("SPARRAY_COSTS", "/no/such/file")
    with pytest.raises(SettingError, match="/no/such/file"):
        load_costs()
