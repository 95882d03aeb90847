"""What a person takes along: the demands as Python and as a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from qpopt import Instance
from qpopt_torch.studio.demands import Demand, Wishes, names_of


def as_python(base: Instance, demands: Sequence[Demand]) -> str:
    """Return a program that asks for the same and trains the model towards it.

    Parameters
    ----------
    base
        The instance of the model.
    demands
        What is wanted.
    """
    wishes = Wishes.of(base, demands)
    prepare: dict[str, Any] = {
        key: [list(pair) for pair in getattr(wishes, key)]
        for key in ("forbidden", "required", "pairs")
        if getattr(wishes, key)
    }
    lines = [
        "import qpopt_torch",
        "",
        "sparse = qpopt_torch.sparsify(",
        "    model,",
        "    train_loader,",
        f"    n_select={wishes.n_select},",
        f"    n_per_class={wishes.n_per_class},",
        "    val_loader=val_loader,",
    ]
    lines += [
        f"    {key}={list(getattr(wishes, key))},"
        for key in ("include", "exclude")
        if getattr(wishes, key)
    ]
    if wishes.bias != 1.0:
        prepare["bias_scale"] = 10**-0.5 * wishes.bias
    if wishes.redundancy != 1.0:
        prepare["redundancy"] = wishes.redundancy
    if prepare:
        lines.append(f"    prepare={prepare!r},")
    lines.append(")")
    if names := {d: name for d, name in names_of(demands).items() if name}:
        lines.append(
            f"# a feature can be named where it is selected\nsparse.rename_features({names!r})"
        )
    return "\n".join(lines) + "\n"


def as_command(base: Instance, demands: Sequence[Demand], places: Mapping[str, str | None]) -> str:
    """Return the command that asks for the same and trains on from the saved model.

    Parameters
    ----------
    base, demands
        As in `as_python`.
    places
        `model` and `data`, the folders of the model and of its pictures, where they are known.
    """
    wishes = Wishes.of(base, demands)
    words = ["qpopt-torch", "steer", places.get("model") or "DIR"]
    words += ["--data", places.get("data") or "FOLDER", "--out", "NEW"]
    counts = {"--n-select": "n_select", "--n-per-class": "n_per_class"}
    words += [
        word
        for option, name in counts.items()
        if getattr(wishes, name) != getattr(base, name)
        for word in (option, str(getattr(wishes, name)))
    ]
    if wishes.bias != 1.0:
        words += ["--bias-scale", f"{10**-0.5 * wishes.bias:g}"]
    if wishes.redundancy != 1.0:
        words += ["--redundancy", f"{wishes.redundancy:g}"]
    for option, features in (("--exclude", wishes.exclude), ("--include", wishes.include)):
        words += [word for d in features for word in (option, str(d))]
    for option, pairs in (("--forbid", wishes.forbidden), ("--require", wishes.required)):
        words += [word for c, d in pairs for word in (option, f"{base.class_name(c)}:{d}")]
    for a, b in wishes.pairs:
        words += ["--pair", f"{base.class_name(a)}:{base.class_name(b)}"]
    return shlex.join(words) + "\n"
