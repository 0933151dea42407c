"""Grows trees from the plugin's sums, and compares them with those of XGBoost itself.

Three parties hold other features of the same rows. The first has the labels and the private key.
Gradients, bins, nodes and messages pass through the C functions in XGBoost's order, and splits
follow its formulas (T. Chen, C. Guestrin, KDD 2016, equations 6 and 7). XGBoost trains on all
features in the clear.

Usage: trees.py LIBRARY PRIVATE-KEY
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

ROWS, FEATURES, TREES, DEPTH, BINS = 240, 5, 3, 3, 8
RATE, PENALTY = 0.5, 1.0
OWNERS = [[0, 1], [2, 3], [4]]


class Party:
    """A party of the plugin."""

    def __init__(self, library: ctypes.CDLL, *arguments: str) -> None:
        self.library = library
        texts = [argument.encode() for argument in arguments]
        library.FederatedPluginCreate.restype = ctypes.c_void_p
        library.FederatedPluginErrorMsg.restype = ctypes.c_char_p
        handle = library.FederatedPluginCreate(len(texts), (ctypes.c_char_p * len(texts))(*texts))
        assert handle, library.FederatedPluginErrorMsg()
        self.handle = ctypes.c_void_p(handle)

    def call(self, name: str, kind: Any, *arguments: Any) -> np.ndarray:
        """Calls a function with two outputs, and copies its buffer."""
        data, length = ctypes.POINTER(kind)(), ctypes.c_size_t()
        function = getattr(self.library, f"FederatedPlugin{name}")
        status = function(self.handle, *arguments, ctypes.byref(data), ctypes.byref(length))
        assert status == 0, self.library.FederatedPluginErrorMsg()
        if not length.value:
            return np.empty(0, kind)
        return np.ctypeslib.as_array(data, (length.value,)).copy()

    def encrypt(self, pairs: np.ndarray) -> np.ndarray:
        pairs = pairs.astype(np.float32)
        return self.call("EncryptGPairs", ctypes.c_uint8, *buffer(pairs))

    def take(self, message: np.ndarray) -> None:
        self.call("SyncEncryptedGPairs", ctypes.c_uint8, *buffer(message))

    def reset(self, starts: np.ndarray, bins: np.ndarray) -> None:
        function = self.library.FederatedPluginResetHistContextVert
        starts, bins = starts.astype(np.uint32), np.ascontiguousarray(bins, np.int32)
        status = function(self.handle, *buffer(starts), *buffer(bins))
        assert status == 0, self.library.FederatedPluginErrorMsg()

    def sums(self, nodes: list[np.ndarray]) -> np.ndarray:
        nodes = [np.ascontiguousarray(rows, np.uint64) for rows in nodes]
        pointers = (ctypes.c_void_p * len(nodes))(*(rows.ctypes.data for rows in nodes))
        sizes = (ctypes.c_size_t * len(nodes))(*(len(rows) for rows in nodes))
        numbers = (ctypes.c_int32 * len(nodes))(*range(len(nodes)))
        count = ctypes.c_size_t(len(nodes))
        name = "BuildEncryptedHistVert"
        return self.call(name, ctypes.c_uint8, pointers, sizes, numbers, count)

    def decrypt(self, messages: np.ndarray) -> np.ndarray:
        return self.call("SyncEncryptedHistVert", ctypes.c_double, *buffer(messages))


def buffer(array: np.ndarray) -> tuple[ctypes.c_void_p, ctypes.c_size_t]:
    """Returns address and length of an array, which the caller keeps."""
    return ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.size)


Histograms = Callable[[list[np.ndarray]], np.ndarray]


def grow(
    histograms: Histograms, gradients: np.ndarray, bins: np.ndarray, starts: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Returns the splits (feature, bin), breadth first, and the weights of the rows."""
    splits, weights = [], np.zeros(len(bins))
    level = [np.arange(len(bins))]
    for _ in range(DEPTH):
        following = []
        for rows, histogram in zip(level, histograms(level) if level else []):
            split = best(histogram, gradients[rows].sum(axis=0), starts)
            if split is None:
                weights[rows] = weight(gradients[rows].sum(axis=0))
                continue
            splits.append(split)
            is_left = bins[rows, split[0]] <= split[1]
            following += [rows[is_left], rows[~is_left]]
        level = following
    for rows in level:
        weights[rows] = weight(gradients[rows].sum(axis=0))
    return splits, weights


def weight(total: np.ndarray) -> float:
    return -RATE * total[0] / (total[1] + PENALTY)


def score(total: np.ndarray) -> float:
    return total[0] ** 2 / (total[1] + PENALTY)


def best(histogram: np.ndarray, total: np.ndarray, starts: np.ndarray) -> tuple[int, int] | None:
    """Returns the split of the largest gain."""
    gain, split = 1e-6, None
    for feature in range(FEATURES):
        left = np.zeros(2)
        for place in range(starts[feature], starts[feature + 1]):
            left = left + histogram[place]
            right = total - left
            found = score(left) + score(right) - score(total)
            if min(left[1], right[1]) >= 1 and found > gain:
                gain, split = found, (feature, place)
    return split


def main(library: str, key: str) -> None:
    random = np.random.default_rng(1)
    x = random.random((ROWS, FEATURES)).astype(np.float32)
    y = (4 * x[:, 0] * x[:, 2] - 2 * x[:, 4] + x[:, 3] ** 2).astype(np.float32)
    parameters = {
        "tree_method": "hist",
        "max_depth": DEPTH,
        "max_bin": BINS,
        "eta": RATE,
        "lambda": PENALTY,
        "base_score": 0.5,
        "objective": "reg:squarederror",
    }
    matrix = xgboost.QuantileDMatrix(x, label=y, max_bin=BINS)
    model = xgboost.train(parameters, matrix, TREES)
    starts, cuts = matrix.get_quantile_cut()
    starts = starts.astype(int)
    bins = np.empty((ROWS, FEATURES), np.int32)
    for feature in range(FEATURES):
        first, end = starts[feature], starts[feature + 1]
        found = np.searchsorted(cuts[first:end], x[:, feature], side="right")
        bins[:, feature] = first + np.minimum(found, end - first - 1)

    loaded = ctypes.CDLL(library)
    active = Party(loaded, f"key={key}", "device=cpu", "name=gpuint_xgboost")
    parties = [active, *(Party(loaded, "device=cpu") for _ in OWNERS[1:])]

    def histograms(nodes: list[np.ndarray]) -> np.ndarray:
        messages = np.concatenate([party.sums(nodes) for party in parties])
        assert all(len(party.decrypt(messages)) == 0 for party in parties[1:])
        return active.decrypt(messages).reshape(len(nodes), -1, 2)

    predictions, nodes = np.full(ROWS, 0.5, np.float32), 0
    table = model.trees_to_dataframe()
    for tree in range(TREES):
        pairs = np.stack([predictions - y, np.ones(ROWS, np.float32)], axis=1)
        gradients = active.encrypt(pairs.ravel())
        for party, features in zip(parties, OWNERS):
            party.take(gradients)
            own = np.isin(np.arange(FEATURES), features)
            party.reset(starts, np.where(own, bins, -1))
        splits, weights = grow(histograms, pairs.astype(np.float64), bins, starts)
        inner = table[(table.Tree == tree) & (table.Feature != "Leaf")].sort_values("Node")
        expected = list(zip(inner.Feature.str[1:].astype(int), inner.Split.astype(np.float32)))
        found = [(feature, cuts[place]) for feature, place in splits]
        assert found == expected, (tree, found, expected)
        predictions = (predictions + weights).astype(np.float32)
        trained = model.predict(matrix, iteration_range=(0, tree + 1))
        difference = np.abs(predictions - trained).max()
        assert difference < 1e-5, (tree, difference)
        nodes += len(found)
    print(f"xgboost {xgboost.__version__}: {nodes} splits of {TREES} trees are equal")


if __name__ == "__main__":
    main(*sys.argv[1:])
