"""The demo's images: scikit-learn's bundled handwritten digits, 8 x 8 grey.

python examples/digits/data.py IMAGES.npy LABELS.npy     # writes the test images
"""

import sys

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


if __name__ == "__main__":
    _, _, images, labels = load()
    np.save(sys.argv[1], images)
    np.save(sys.argv[2], labels)
