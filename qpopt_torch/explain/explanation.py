"""Explanation: what all explanations can do."""

from __future__ import annotations

import base64
import json
import re
from abc import ABC, abstractmethod
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from qpopt import InvalidArgument
from qpopt.io import AnyPath, replacing
from qpopt_torch.sparse.storage import made_folder


class Explanation(ABC):
    """Something that can be drawn, written down and shown in a notebook."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What is explained."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as values that JSON can hold, without the images."""

    @abstractmethod
    def figure(self) -> tuple[Any, Any]:
        """Draw the explanation with matplotlib; return the figure and its axes."""

    @abstractmethod
    def summary(self) -> str:
        """Return the explanation in a few sentences."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"

    def __str__(self) -> str:
        return f"{self.title}\n{self.summary()}"

    def _repr_html_(self) -> str:
        image = base64.b64encode(self._png()).decode()
        style = "margin:0.4em 0;max-width:50em"
        said = [f'<p style="{style}">{escape(line)}</p>' for line in self.summary().splitlines()]
        title = escape(self.title)
        return (
            f"<h3>{title}</h3>{''.join(said)}"
            f'<img alt="{title}" style="max-width:100%" src="data:image/png;base64,{image}">'
        )

    def save(self, directory: AnyPath) -> dict[str, Path]:
        """Write the figure as PNG and the rest as JSON, named after the title.

        Returns their paths under `figure` and `data`.
        """
        folder = made_folder(directory)
        stem = re.sub(r"[^\w]+", "-", self.title.lower()).strip("-")[:100] or "explanation"
        paths = {"figure": folder / f"{stem}.png", "data": folder / f"{stem}.json"}
        with replacing(paths["figure"]) as stream:
            stream.write(self._png())
        with replacing(paths["data"]) as stream:
            stream.write(json.dumps(self.to_dict(), indent=1, ensure_ascii=False).encode())
        return paths

    def write(self, path: AnyPath) -> Path:
        """Write the explanation as one file: a picture (.png) or a page (.html).

        Raises
        ------
        InvalidArgument
            If the name ends in something else.
        """
        file = Path(path)
        if file.suffix.lower() not in (".html", ".png"):
            raise InvalidArgument(f"An explanation is a .png or .html, not {file.name!r}.")
        content = self._png()
        if file.suffix.lower() == ".html":
            style = (
                "font:16px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em"
            )
            content = (
                '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<title>{escape(self.title)}</title></head>\n"
                f'<body style="{style}">\n{self._repr_html_()}\n</body>\n</html>\n'
            ).encode()
        with replacing(file) as stream:
            stream.write(content)
        return file

    def _png(self) -> bytes:
        import matplotlib.pyplot as plt

        figure, _ = self.figure()
        stream = BytesIO()
        figure.savefig(stream, format="png", dpi=110, bbox_inches="tight")
        plt.close(figure)
        return stream.getvalue()
