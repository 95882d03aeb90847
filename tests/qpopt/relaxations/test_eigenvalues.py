"""Eigenvalues: the negative part, and deficits that are never too small."""

from __future__ import annotations

import numpy as np
import pytest

from qpopt.relaxations.eigenvalues import LARGE, eigenvalue_deficit, negative_part


def symmetric(seed, n, shift=0.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A + A.T + shift * np.eye(n)


@pytest.mark.parametrize("n", [5, 130])
@pytest.mark.parametrize("shift", [-30.0, 0.0, 30.0])
@pytest.mark.parametrize("expected_rank", [0, 2, 100])
def test_the_negative_part_takes_all_that_is_negative(n, shift, expected_rank):
    W = symmetric(n, n, shift)
    part, rank = negative_part(W, min(expected_rank, n))
    values = np.linalg.eigvalsh(W)
    assert rank == (values < 0).sum()
    np.testing.assert_allclose(
        np.linalg.eigvalsh(W + part), np.maximum(values, 0.0), atol=1e-10 * np.abs(values).max()
    )


@pytest.mark.parametrize("n", [6, LARGE + 3])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("rounded", [False, True])
def test_a_deficit_is_never_too_small(n, scale, rounded):
    """Of a positive semidefinite matrix that single precision has rounded, or less some of I."""
    factor = np.random.default_rng(n).standard_normal((n, n // 2))
    B = scale * (factor @ factor.T) / n
    B = B.astype(np.float32).astype(np.float64) if rounded else B - 1e-3 * scale * np.eye(n)
    B = np.tril(B) + np.tril(B, -1).T
    missing = max(0.0, -float(np.linalg.eigvalsh(B)[0]))
    assert rounded or missing > 0
    deficit = eigenvalue_deficit(B)
    assert missing <= deficit <= 1e-6 * scale + 8.0 * missing


def test_a_guess_that_is_too_small_is_mended_and_one_that_is_too_large_falls():
    B = symmetric(1, LARGE)
    missing = -float(np.linalg.eigvalsh(B)[0])
    assert eigenvalue_deficit(B, 0.5 * missing) >= missing
    assert eigenvalue_deficit(B, 1.5 * missing) == 1.5 * missing
    # A deficit that is handed on from proof to proof does not stay large for good.
    deficit = 1e6 * missing
    for _ in range(12):
        deficit = eigenvalue_deficit(B, deficit)
        assert deficit >= missing
    assert deficit < 5.0 * missing


def test_what_is_no_number_has_no_deficit():
    assert eigenvalue_deficit(np.full((LARGE, LARGE), np.nan)) == np.inf
