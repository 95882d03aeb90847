"""A sparse classifier as an ONNX file, checked by running it."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qpopt import QpoptError
from qpopt.io import AnyPath, replacing
from qpopt_torch.data.inputs import whole_batch
from qpopt_torch.errors import ModelError, path_of, require_sparse
from qpopt_torch.network.observation import evaluating, run

if TYPE_CHECKING:
    from qpopt_torch.sparse.classifier import SparseClassifier

TOLERANCE = 1e-3
"""Difference of logits, relative to the largest, beyond which a file is not written."""
CHECKED = 3
"""Inputs by which a file is checked: another number than it was exported with."""


def export_onnx(model: SparseClassifier, path: AnyPath, x: Tensor | None = None) -> float:
    """Write a model as ONNX for any number of inputs; return how far its logits are off, at most.

    The file is written only if onnxruntime gives the logits that torch gives.

    Parameters
    ----------
    model
        The sparse classifier.
    path
        The file to write.
    x
        A batch of inputs to check with; random ones of the known shape without.

    Raises
    ------
    QpoptError
        If onnx or onnxruntime is not installed.
    ModelError
        If the model cannot be exported, or the file does not give the same logits.

    Examples
    --------
    >>> from torch import nn
    >>> import qpopt_torch
    >>> model = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))
    >>> qpopt_torch.export_onnx(model, "model.onnx")
    Traceback (most recent call last):
    ModelError: export_onnx takes a SparseClassifier, ...
    """
    require_sparse(model, "export_onnx")
    target = path_of(path)
    if x is None:
        if model.record.input_shape is None:
            raise ModelError("The shape of the inputs is not known; pass x, a batch of them.")
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(CHECKED, *model.record.input_shape, generator=generator)
    if not isinstance(whole_batch(x, model), Tensor):
        raise ModelError("Only models that take one tensor can be written as ONNX.")
    parameter = next(model.parameters(), None)
    if parameter is not None:
        x = x.to(parameter)
    runtime: Any = _imported("onnxruntime")
    _imported("onnx"), _imported("onnxscript")
    with evaluating(model), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        expected = run(model, x, 0)
        if not bool(torch.isfinite(expected).all()):
            raise ModelError("The model gives numbers that are not finite; check it with others.")
        content = _exported(model, x)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input": x.cpu().numpy()})
    difference = float((torch.from_numpy(found) - expected.cpu()).abs().max())
    if not difference <= TOLERANCE * max(1.0, float(expected.abs().max())):
        raise ModelError(
            f"onnxruntime gives logits that are off by {difference:.3g}, so {target} was not "
            "written."
        )
    with replacing(target) as stream:
        stream.write(content)
    return difference


def _exported(model: SparseClassifier, x: Tensor) -> bytes:
    """Return the file: for two inputs, since one would be taken for a constant."""
    try:
        program = torch.onnx.export(
            model,
            (x[:2],),
            input_names=["input"],
            output_names=["logits"],
            dynamic_shapes={"x": {0: torch.export.Dim("batch", min=1)}},
            dynamo=True,
            verbose=False,
        )
        assert program is not None
        content: bytes = program.model_proto.SerializeToString()
    except Exception as error:  # whatever an exporter does not know of a network
        cause: BaseException = error  # the exporter wraps what went wrong, and says little itself
        while cause.__cause__ is not None:
            cause = cause.__cause__
        said = " ".join(str(cause).split())[:300]
        raise ModelError(
            f"This network cannot be written as ONNX: {type(cause).__name__}: {said}"
        ) from error
    return content


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise QpoptError(f"The export needs {name}: pip install 'qpopt[onnx]'.") from error
