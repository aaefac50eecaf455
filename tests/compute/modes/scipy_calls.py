"""Calls SciPy with arrays of a strict namespace and of array-api-strict, and compares the results.

A process of its own, with SCIPY_ARRAY_API=1, which SciPy reads when it is imported.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
from scipy import cluster, fft, ndimage, signal, special, stats

import refarray

warnings.simplefilter("ignore")


def calls(xp: Any) -> dict[str, Callable[[], Any]]:
    x = xp.asarray([1.0, 2.0, 4.0, 8.0, 16.0])
    y = xp.asarray([2.0, 1.0, 4.0, 9.0, 14.0])
    m = xp.reshape(xp.arange(12, dtype=xp.float64), (3, 4))
    return {
        "fft.fft": lambda: fft.fft(x),
        "fft.dct": lambda: fft.dct(x),
        "fft.rfftn": lambda: fft.rfftn(m),
        "special.logsumexp": lambda: special.logsumexp(m, axis=0),
        "special.softmax": lambda: special.softmax(m, axis=1),
        "special.gammaln": lambda: special.gammaln(x),
        "special.xlogy": lambda: special.xlogy(x, y),
        "cluster.whiten": lambda: cluster.vq.whiten(m),
        "cluster.vq": lambda: cluster.vq.vq(m, m)[1],
        "signal.detrend": lambda: signal.detrend(x),
        "signal.hilbert": lambda: signal.hilbert(x),
        "signal.fftconvolve": lambda: signal.fftconvolve(x, y),
        "ndimage.gaussian_filter": lambda: ndimage.gaussian_filter(m, 1.0),
        "ndimage.zoom": lambda: ndimage.zoom(m, 2.0),
        "stats.zscore": lambda: stats.zscore(x),
        "stats.ttest_ind": lambda: stats.ttest_ind(x, y).pvalue,
        "stats.pearsonr": lambda: stats.pearsonr(x, y).statistic,
        "stats.gmean": lambda: stats.gmean(x),
        "stats.skew": lambda: stats.skew(x),
        "stats.kurtosis": lambda: stats.kurtosis(m, axis=1),
        "stats.entropy": lambda: stats.entropy(x),
        "stats.moment": lambda: stats.moment(x, 2),
        "stats.variation": lambda: stats.variation(x),
        "stats.sem": lambda: stats.sem(x),
        "stats.tmean": lambda: stats.tmean(x, (1, 9)),
        "stats.mannwhitneyu": lambda: stats.mannwhitneyu(x, y).pvalue,
        "stats.kstat": lambda: stats.kstat(x, 2),
        "stats.bartlett": lambda: stats.bartlett(x, y).pvalue,
        "stats.chisquare": lambda: stats.chisquare(x, x).pvalue,
        "stats.jarque_bera": lambda: stats.jarque_bera(x).pvalue,
        "stats.directional_stats": lambda: stats.directional_stats(m).mean_direction,
        "stats.rankdata": lambda: stats.rankdata(x),
        "stats.quantile": lambda: stats.quantile(x, xp.asarray(0.3)),
    }


def main() -> None:
    strict: Any = refarray.namespace(strict=True)
    ours, theirs = calls(strict), calls(array_api_strict)
    differences = {}
    for name, call in ours.items():
        expected, made = theirs[name](), call()
        if not hasattr(made, "__array_namespace__") or made.__array_namespace__() is not strict:
            differences[name] = f"the result is a {type(made)}"
        elif not np.allclose(np.asarray(made), np.asarray(expected), rtol=1e-9, atol=1e-12):
            differences[name] = f"{made} instead of {expected}"
    print(json.dumps({"calls": len(ours), "differences": differences}))


if __name__ == "__main__":
    main()
