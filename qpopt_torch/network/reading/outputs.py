"""The logits in whatever a classifier returns, never silently the first of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor

from qpopt_torch.errors import ModelError

Output = str | int | Callable[[Any], Any] | None
"""Which output holds the logits: its name, its place, or a function of what the model returns."""

ADVICE = "pass head={'output': its name, its place, or a function of what the model returns}"


def logits_of(returned: Any, output: Output = None) -> Tensor:
    """Return the logits in what a classifier returned: N × classes.

    Parameters
    ----------
    returned
        A tensor, or a mapping, an object or a tuple that holds it.
    output
        Which of its entries; without it, the one called `logits`, or the only one that could be.

    Raises
    ------
    ModelError
        If there are none, or several and none is named.
    """
    if output is not None:
        found = _picked(returned, output)
    else:
        known = possible(returned)
        if len(known) > 1:
            listed = ", ".join(f"{key!r} {tuple(value.shape)}" for key, value in known.items())
            raise ModelError(f"The model returns several outputs: {listed}; {ADVICE}.")
        found = next(iter(known.values()), returned)
    if not isinstance(found, Tensor):
        raise ModelError(
            f"The model returns {type(found).__name__}, in which there are no logits; it must "
            f"return a tensor, or an object, mapping or tuple that holds them; else {ADVICE}."
        )
    if found.ndim != 2:
        raise ModelError(
            f"The model's output has the shape {tuple(found.shape)}; a classifier gives one row "
            "of logits for each sample."
        )
    return found


def possible(returned: Any) -> dict[str | int | None, Tensor]:
    """Return what could be logits in what a model returned, by name or place.

    A tensor by itself has the key None. What is called `logits` is all that counts.
    """
    if isinstance(returned, Tensor):
        return {None: returned}
    known = entries(returned)
    if isinstance(known.get("logits"), Tensor):
        return {"logits": known["logits"]}
    return {
        key: value
        for key, value in known.items()
        if isinstance(value, Tensor) and value.ndim == 2 and value.is_floating_point()
    }


def entries(returned: Any) -> dict[str | int, Any]:
    """Return what is in an output, by name where it has names, else by place."""
    if isinstance(returned, Mapping):
        return dict(returned)
    if names := getattr(returned, "_fields", None):
        return {str(name): getattr(returned, name) for name in names}
    if isinstance(returned, tuple | list):
        return dict(enumerate(returned))
    if is_dataclass(returned):
        return {field.name: getattr(returned, field.name) for field in fields(returned)}
    return dict(getattr(returned, "__dict__", {}))


def _picked(returned: Any, output: str | int | Callable[[Any], Any]) -> Any:
    if callable(output):
        try:
            return output(returned)
        except Exception as error:  # the code of a user may fail in any way
            said = f"{type(error).__name__}: {error}".rstrip(".: ")
            raise ModelError(f"The function that picks the output fails ({said}).") from error
    if isinstance(returned, Tensor):
        raise ModelError(f"The model returns one tensor, of which output {output!r} is no part.")
    known = entries(returned)
    if output in known:
        return known[output]
    places = list(known.values())
    if isinstance(output, int) and -len(places) <= output < len(places):
        return places[output]
    listed = ", ".join(map(repr, known)) or "none"
    raise ModelError(f"The model has no output {output!r}; its outputs are {listed}.")


def check_output(output: Any) -> None:
    """Raise ModelError unless this can name an output."""
    fine = output is None or callable(output) or isinstance(output, str | int)
    if not fine or isinstance(output, bool):
        raise ModelError(
            f"output must be a name, a place or a function of what the model returns, not "
            f"{output!r}."
        )
