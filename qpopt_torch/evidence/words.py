"""Texts as people see them: words, and the strength of a feature behind each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qpopt_torch.data.inputs import Inputs
from qpopt_torch.errors import LoaderError, shown
from qpopt_torch.evidence.pictures import Picture

MOST_WORDS = 160
"""Words of a text that are kept."""
CONTINUES, BEGINS = "##", ("Ġ", "▁")
"""How tokenizers mark a piece that goes on with a word, and one that begins a word."""


@dataclass(frozen=True, eq=False)
class ToText:
    """Shows a sample as its words, with the strength of a feature behind each.

    Parameters
    ----------
    source
        A tokenizer (of transformers or tokenizers), the tokens by their numbers, or a function of
        a sample that returns its tokens, one for every position, or a text.
    """

    source: Any

    def __call__(self, x: Any) -> tuple[Picture, list[list[int]]]:
        """Return the words of one sample, and the positions of each."""
        if callable(self.source) and not hasattr(self.source, "convert_ids_to_tokens"):
            tokens: Any = self.source(x)
            if isinstance(tokens, str):
                return _text(tokens.split()), []
            if not isinstance(tokens, Sequence):
                raise LoaderError(
                    "to_text must be given a function that returns a text or a list of tokens, not "
                    f"{shown(tokens)}."
                )
            tokens = [token or "" for token in tokens]
        else:
            tokens = self._tokens(x)
        words, places = _words([str(token) for token in tokens])
        return _text(words), places

    def _tokens(self, x: Any) -> list[str]:
        ids = _numbers(x)
        there = _there(x, len(ids))
        read, special = self._reader()
        return [
            "" if number in special or not inside else read(number)
            for number, inside in zip(ids, there, strict=True)
        ]

    def _reader(self) -> tuple[Callable[[int], str], frozenset[int]]:
        """Return what gives the token of a number, and the numbers that are not shown."""
        source = self.source
        if hasattr(source, "convert_ids_to_tokens"):
            special = frozenset(getattr(source, "all_special_ids", ()))
            return lambda number: str(source.convert_ids_to_tokens(int(number))), special
        if hasattr(source, "id_to_token"):
            return lambda number: str(source.id_to_token(int(number)) or number), frozenset()
        known = source
        if isinstance(known, Mapping):
            turned = known and all(isinstance(key, str) for key in known)
            known = {int(v): k for k, v in known.items()} if turned else dict(known)
        else:
            known = dict(enumerate(known))
        return lambda number: str(known.get(number, number)), frozenset()


def word_maps(maps: Tensor, places: Sequence[Sequence[int]], n_tokens: int) -> Any:
    """Return the maps of a text by its words: of each the largest value of its tokens.

    Words without a position, such as those before the first one that maps have, hold −inf.
    """
    flat = maps.detach().float().cpu().flatten(1)
    before = n_tokens - flat.shape[1]
    if before < 0:
        return None
    found = torch.full((len(flat), len(places)), -torch.inf)
    for word, positions in enumerate(places):
        inside = [p - before for p in positions if p >= before]
        if inside:
            found[:, word] = flat[:, inside].amax(1)
    return found.clamp(max=6e4).half().numpy()


def _text(words: Sequence[str]) -> Picture:
    kept = tuple(words[:MOST_WORDS])
    more = ("…",) if len(words) > len(kept) else ()
    return Picture("text", np.zeros(0), words=(*kept, *more))


def _words(tokens: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Join pieces of words; return the words and the positions of each."""
    marked = any(token.startswith(BEGINS) for token in tokens)
    words: list[str] = []
    places: list[list[int]] = []
    fresh = True
    for position, token in enumerate(tokens):
        if not token:
            fresh = True
            continue
        begins = token.startswith(BEGINS)
        goes_on = token.startswith(CONTINUES) or (marked and not begins)
        piece = token.removeprefix(CONTINUES) if goes_on else token.lstrip("".join(BEGINS))
        if goes_on and words and not fresh:
            words[-1] += piece
            places[-1].append(position)
        elif piece:
            words.append(piece)
            places.append([position])
        fresh = False
    return words, places


def main_input(x: Any) -> Tensor:
    """Return the tensor of a sample that says most to a person."""
    if isinstance(x, Tensor):
        return x
    return Inputs.of(x).main


def _numbers(x: Any) -> list[int]:
    ids = main_input(x)
    if ids.is_floating_point() or ids.ndim != 1:
        raise LoaderError(
            f"to_text needs the numbers of tokens, not {tuple(ids.shape)} of {ids.dtype}; pass it "
            "a function of a sample that returns the tokens."
        )
    return [int(number) for number in ids.tolist()]


def _there(x: Any, n: int) -> list[bool]:
    """Return which positions of a sample are there, as an attention mask says."""
    mask = x.get("attention_mask") if isinstance(x, Mapping) else None
    if isinstance(mask, Tensor) and mask.shape == (n,):
        return [bool(inside) for inside in mask.tolist()]
    return [True] * n
