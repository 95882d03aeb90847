"""Names of classes, checked: as many as there are classes, no two alike; and classes by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from qpopt import InvalidArgument
from qpopt_torch.errors import ModelError, shown


def checked_class_names(names: Any, n_classes: int | None = None) -> tuple[str, ...] | None:
    """Return names of classes as text; None where there are none.

    Parameters
    ----------
    names
        An iterable of names, or None.
    n_classes
        How many there must be, where that is known.

    Raises
    ------
    InvalidArgument
        If they are no names, too few or too many, or two are the same.
    """
    if names is None:
        return None
    if isinstance(names, (str, bytes, Mapping)) or not isinstance(names, Iterable):
        raise InvalidArgument(f"class_names must be a list of names, not {shown(names)}.")
    found = tuple(str(name) for name in names)
    if twice := [name for name, count in Counter(found).items() if count > 1]:
        raise InvalidArgument(
            f"class_names holds {shown(twice[0])} twice; give every class a name of its own."
        )
    if n_classes is not None and len(found) != n_classes:
        raise InvalidArgument(
            f"class_names must hold {n_classes} names, one for each class; it holds {len(found)}."
        )
    return found


def known_class_names(model: Any, loader: Any, n_classes: int) -> tuple[str, ...] | None:
    """Return the names that a data set or a model brings along; None if there are no fitting ones.

    Data sets have `class_names`, `classes` or `features`, as those of the package datasets do;
    models of transformers `config.id2label`, whose placeholders do not count.
    """
    data = getattr(loader, "dataset", None)
    features = getattr(data, "features", None)
    columns = features.values() if isinstance(features, Mapping) else ()
    id2label = getattr(getattr(model, "config", None), "id2label", None)
    labels: Any = None
    if isinstance(id2label, Mapping) and set(id2label) == set(range(n_classes)):
        labels = [id2label[c] for c in range(n_classes)]
        if all(name == f"LABEL_{c}" for c, name in enumerate(labels)):
            labels = None
    candidates = [
        getattr(data, "class_names", None),
        getattr(data, "classes", None),
        *(getattr(column, "names", None) for column in columns),
        labels,
    ]
    for names in candidates:
        fine = isinstance(names, Iterable) and not isinstance(names, str | Mapping)
        found = tuple(map(str, names)) if fine else ()
        if len(found) == n_classes == len(set(found)):
            return found
    return None


def class_number(c: int | str, n_classes: int, names: Sequence[str]) -> int:
    """Return the number of a class given by number or name."""
    if isinstance(c, str):
        if c in names:
            return names.index(c)
        near = [name for name in names if c.lower() in name.lower()][:5]
        hint = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        raise ModelError(f"There is no class named {c!r}.{hint}")
    whole = isinstance(c, Integral) and not isinstance(c, bool)
    if not whole or not 0 <= c < n_classes:
        raise ModelError(f"There is no class {shown(c)}; the classes are 0 to {n_classes - 1}.")
    return int(c)
