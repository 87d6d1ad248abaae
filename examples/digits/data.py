"""The demo's images: scikit-learn's bundled handwritten digits, 8 x 8 grey."""

import numpy as np
from sklearn.datasets import load_digits


def load():
    """`x_train, y_train, x_test, y_test`: images as (n, 1, 8, 8) float32 in [0, 1].

    Every fifth image is a test image: 1438 to train on, 359 to test.
    """
    digits = load_digits()
    x = (digits.images / 16).astype(np.float32)[:, None]
    y = digits.target
    test = np.arange(len(y)) % 5 == 4
    return x[~test], y[~test], x[test], y[test]
