"""What `import agentsim` offers."""

from __future__ import annotations

import inspect

import pytest

import agentsim


@pytest.mark.parametrize("name", agentsim.__all__)
def test_every_public_name_can_be_had_and_says_what_it_is(name):
    value = getattr(agentsim, name)
    assert value is not None
    if inspect.isfunction(value) or inspect.isclass(value):
        assert inspect.getdoc(value), f"{name} has no docstring"


def test_every_name_that_is_loaded_on_first_use_is_exported():
    assert set(agentsim.__all__) == {*agentsim._PUBLIC, "__version__", "strategies"}


def test_dir_lists_the_public_names():
    assert dir(agentsim) == sorted(agentsim.__all__)


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        agentsim.nonsense  # noqa: B018
