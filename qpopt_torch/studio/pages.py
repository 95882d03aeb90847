"""The page of the studio: the report, and what can be done to the model."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from qpopt import Instance
from qpopt_torch.report.rendering import Addition, rendered

SCRIPTS = ("link", "charts", "steer", "compare", "own")


def page(
    values: Mapping[str, Any], base: Instance, names: Mapping[int, str], *, texts: bool = False
) -> str:
    """Return the page.

    Parameters
    ----------
    values
        What the report says.
    base
        The instance of the model.
    names
        Names of features that are not called by their number.
    texts
        Whether what a person gives it is a text, not a picture.
    """
    folder = files("qpopt_torch.studio") / "page"

    def asset(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    addition = Addition(
        {"steer": "Steer", "compare": "Compare", "own": "Own text" if texts else "Own picture"},
        asset("studio.css"),
        "\n".join(asset(f"{name}.js") for name in SCRIPTS),
    )
    data = dict(values["data"])
    data["studio"] = {
        "n_features": base.n_features,
        "n_select": base.n_select,
        "n_per_class": base.n_per_class,
        "texts": texts,
        "names": {str(d): name for d, name in names.items()},
    }
    return rendered({**values, "data": data}, addition)
