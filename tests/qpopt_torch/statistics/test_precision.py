import numpy as np
import pytest
import torch

from qpopt import InvalidArgument
from qpopt_torch import collect
from qpopt_torch.statistics.precision import autocasting
from tests.qpopt_torch.small import batches, cnn

SIZES = (40, 40, 40)


def test_lower_precision_gives_nearly_the_same_similarity():
    data, model = batches(sizes=SIZES), cnn()
    exact = collect(model, data, precision="float32", progress=False)
    rough = collect(model, data, precision="bfloat16", progress=False)
    assert rough.sums.dtype == np.float64
    assert rough.rounding == torch.finfo(torch.bfloat16).eps
    assert exact.rounding == torch.finfo(torch.float32).eps
    difference = np.abs(rough.similarity() - exact.similarity())
    assert 0 < difference.max() < 0.02


def test_auto_is_float32_without_a_gpu():
    data, model = batches(sizes=SIZES), cnn()
    auto, exact = (
        collect(model, data, precision=kind, progress=False) for kind in ("auto", "float32")
    )
    assert auto.sums.tobytes() == exact.sums.tobytes()
    with autocasting("auto", torch.device("cpu")):
        assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("precision", ["float16", "half", None, 32, ["auto"]])
def test_what_is_no_precision_is_refused(precision):
    with pytest.raises(InvalidArgument, match="precision must be auto, float32, bfloat16"):
        collect(cnn(), batches(), precision=precision, progress=False)
