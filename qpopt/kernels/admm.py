"""The compiled loop of one step of the alternating direction method."""

from __future__ import annotations

from qpopt.kernels.compiled import compiled


@compiled(fastmath=True)
def split_slack(iterate, inverse, t, m):
    """Find the best N ≥ 0 for the current y and S, and the matrix W whose positive part is next S.

    The dual slack is D = w_i w_j · ½(y_i + y_j) − G_ij off the diagonal and
    w_i² · ((1 − m) y_i + t) − G_ii on it, w being the weights of the features;
    N = max(0, D − S − X/σ) off the diagonal, W = D − N − X/σ. `iterate` is an AdmmIterate.
    """
    G, S, X, N, W, y, weights = iterate
    n = G.shape[0]
    half = y * y.dtype.type(0.5)
    for i in range(n):
        for j in range(n):
            pull = X[i, j] * inverse
            slack = weights[i] * weights[j] * (half[i] + half[j]) - G[i, j] - pull
            excess = slack - S[i, j]
            if excess > 0:
                N[i, j] = excess
                W[i, j] = S[i, j]
            else:
                N[i, j] = 0
                W[i, j] = slack
        N[i, i] = 0
        W[i, i] = weights[i] ** 2 * (y[i] - m * y[i] + t) - G[i, i] - X[i, i] * inverse
