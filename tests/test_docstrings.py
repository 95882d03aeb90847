"""The examples in docstrings run, every public function has one, and every setting is explained."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re

import pytest

import qpopt
import qpopt_torch
import qpopt_torch.data
import qpopt_torch.explain
import qpopt_torch.metrics

PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in (
        qpopt,
        qpopt_torch,
        qpopt_torch.data,
        qpopt_torch.explain,
        qpopt_torch.metrics,
    )
    for name in package.__all__
    if callable(getattr(package, name))
}
WITH_EXAMPLE = [name for name, thing in PUBLIC.items() if ">>>" in (inspect.getdoc(thing) or "")]
SETTINGS = {name: thing for name, thing in PUBLIC.items() if dataclasses.is_dataclass(thing)}


def test_every_public_function_has_an_example():
    functions = {name for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
    assert functions - set(WITH_EXAMPLE) == set()


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_says_what_comes_out(name):
    thing = PUBLIC[name]
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), {}, name, None, None)
    assert any(one.want for one in example.examples), "an example that shows nothing"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    told = []
    found = doctest.DocTestRunner(optionflags=flags).run(example, out=told.append)
    assert not found.failed, "".join(told)


@pytest.mark.parametrize("name", SETTINGS)
def test_help_explains_every_field(name):
    """A field is explained under its name, or under that of the base class that has it."""
    kinds = [kind for kind in SETTINGS[name].__mro__ if dataclasses.is_dataclass(kind)]
    told = "\n".join(inspect.cleandoc(kind.__doc__ or "") for kind in kinds)
    headings = re.findall(r"^[A-Za-z]\w*(?:, \w+)*$", told, re.MULTILINE)
    explained = {word for heading in headings for word in heading.split(", ")}
    public = {f.name for f in dataclasses.fields(SETTINGS[name]) if not f.name.startswith("_")}
    assert public <= explained
