"""Running a notebook without a server: cell by cell, in order, keeping what each one shows.

`python -m tests.notebooks FILE` runs a notebook and stores what it showed.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path

import matplotlib as mpl

from qpopt.io import replacing


def run(path, known=None, change=lambda source: source):
    """Run the code cells of a notebook, each changed before it runs, and return the notebook.

    What the cells define lands in `known`. A cell shows what it prints, the figures that it leaves
    open, and its last value unless a semicolon ends it.
    """
    from matplotlib import pyplot as plt

    mpl.use("agg")
    plt.close("all")
    notebook = json.loads(Path(path).read_text(encoding="utf-8"))
    known = {} if known is None else known
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        tree = ast.parse(change("".join(cell["source"])))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(path), "exec"), known)
            shown = (
                None
                if last is None
                else eval(compile(ast.Expression(last.value), "", "eval"), known)
            )
        cell["execution_count"] = number
        cell["outputs"] = [*_text(printed.getvalue()), *map(_figure, plt.get_fignums())]
        if shown is not None and not "".join(cell["source"]).rstrip().endswith(";"):
            cell["outputs"].append(_value(shown, number))
        plt.close("all")
    return notebook


def _text(text):
    return [{"output_type": "stream", "name": "stdout", "text": text.splitlines(True)}] * bool(text)


def _figure(number):
    from matplotlib import pyplot as plt

    stream = io.BytesIO()
    plt.figure(number).savefig(stream, format="png", dpi=70)
    image = base64.b64encode(stream.getvalue()).decode()
    data = {"image/png": image, "text/plain": ["a figure"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _value(shown, number):
    data = {"text/plain": repr(shown).splitlines(True)}
    if isinstance(shown, str):
        data["text/plain"] = shown.splitlines(True)
    return {
        "output_type": "execute_result",
        "execution_count": number,
        "data": data,
        "metadata": {},
    }


def main(path):
    """Run a notebook and store what it showed."""
    notebook = run(path)
    with replacing(path) as stream:
        stream.write((json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1])
