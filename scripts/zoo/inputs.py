"""Inputs like those that real models are for, made without downloading anything."""

import string

import numpy as np

WORDS = "patient hospital invoice account transfer total street number private model secret share"
"""What lines of text say."""
IMAGENET = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]], np.float32)
"""The mean and the deviation of the colours of ImageNet's pictures."""


def lines(rng, n, height, width):
    """Images of printed lines, `(n, 3, height, width)` from -1 to 1, half of them upside down."""
    from PIL import Image, ImageDraw, ImageFont

    images = []
    for i in range(n):
        page = Image.new("L", (width, height), int(rng.integers(200, 256)))
        draw = ImageDraw.Draw(page)
        text = " ".join(rng.choice(WORDS.split(), 3)) + f" {rng.integers(10_000)}"
        font = ImageFont.load_default(size=int(height * rng.uniform(0.5, 0.75)))
        draw.text((rng.integers(2, 9), height * 0.1), text, int(rng.integers(0, 90)), font)
        images.append(page.rotate(180) if i % 2 else page)
    return _three(images) / 127.5 - 1


def pages(rng, n, height, width):
    """Images of pages with a few lines, with the mean and deviation of ImageNet's taken away."""
    from PIL import Image, ImageDraw, ImageFont

    images = []
    for _ in range(n):
        page = Image.new("L", (width, height), int(rng.integers(200, 256)))
        draw = ImageDraw.Draw(page)
        for top in range(4, height - 14, int(rng.integers(16, 28))):
            text = " ".join(rng.choice(WORDS.split(), 4))
            draw.text((rng.integers(2, 9), top), text, 0, ImageFont.load_default(size=12))
        images.append(page)
    mean, std = IMAGENET[:, :, None, None]
    return (_three(images) / 255 - mean) / std


def _three(images):
    grey = np.stack([np.asarray(image, np.float32) for image in images])
    return np.repeat(grey[:, None], 3, axis=1)


def signals(rng, n, length, rate=250):
    """Signals like EEG, `(n, length)` of deviation 1: pink noise, alpha and spindles."""
    frequency = np.fft.rfftfreq(length, 1 / rate)
    shape = 1 / np.maximum(frequency, 0.5)
    phases = rng.normal(size=(n, len(shape))) + 1j * rng.normal(size=(n, len(shape)))
    noise = np.fft.irfft(shape * phases, length)
    noise /= noise.std(axis=1, keepdims=True)
    time = np.arange(length) / rate
    middle = rng.uniform(0.2, 0.8, (n, 1)) * time[-1]
    spindle = np.sin(2 * np.pi * 13 * time) * np.exp(-(((time - middle) / 0.4) ** 2))
    alpha = 0.3 * np.sin(2 * np.pi * 10 * time + rng.uniform(0, 6, (n, 1)))
    mixed = noise + 1.5 * spindle + alpha
    return (mixed / mixed.std(axis=1, keepdims=True)).astype("f4")


def spectra(x, channels, rate=250):
    """Power in bands of 2 Hz over time, `(n, channels, length)` of deviation 1 of each signal."""
    length = x.shape[1]
    time = np.arange(-rate // 2, rate // 2) / rate
    window = np.hanning(rate)
    bands = []
    for channel in range(channels):
        wave = window * np.exp(2j * np.pi * (2 + 2 * channel) * time)
        size = length + rate - 1
        band = np.fft.ifft(np.fft.fft(x, size) * np.fft.fft(wave, size))
        bands.append(np.log1p(np.abs(band[:, rate // 2 : rate // 2 + length])))
    stack = np.stack(bands, axis=1)
    stack = (stack - stack.mean(axis=(1, 2), keepdims=True)) / stack.std(axis=(1, 2), keepdims=True)
    return stack.astype("f4")


def voices(rng, n, length, rate=16_000):
    """Sounds of `length` from -1 to 1: of half of them a voice's harmonics, of half noise."""
    time = np.arange(length) / rate
    pitch = rng.uniform(90, 250, (n, 1))
    harmonics = sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 12))
    noise = rng.normal(size=(n, length))
    voiced = np.where(np.arange(n)[:, None] % 2, harmonics * 0.3 + 0.02 * noise, 0.05 * noise)
    return np.clip(voiced, -1, 1).astype("f4")


def files(rng, n, length, padding):
    """Bytes of files as numbers, `(n, length)`: text, tables, source code and random bytes."""
    found = np.full((n, length), padding, np.int32)
    letters = np.frombuffer((string.ascii_letters + string.digits + " ,;\n{}()=").encode(), "u1")
    sources = [
        lambda: b"def f(x):\n    return [y for y in x if y]\n" * 60,
        lambda: b"id,age,income\n" + b"".join(b"%d,34,1200\n" % i for i in range(300)),
        lambda: bytes(rng.choice(letters, length)),
        lambda: rng.bytes(length),
    ]
    for i, row in enumerate(found):
        content = np.frombuffer(sources[i % 4]()[: length // 2], "u1")
        row[: len(content)] = content
        tail = content[-length // 2 :]
        row[length - len(tail) :] = tail
    return found


def photos(rng, n, size):
    """Crops of photographs, `(n, 3, size, size)`, as networks of ImageNet take them."""
    x = (crops(rng, n, size, size) / 255 - IMAGENET[0]) / IMAGENET[1]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2), dtype=np.float32)


def crops(rng, n, height, width):
    """Crops of two photographs of scikit-learn, `(n, height, width, 3)` from 0 to 255."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    images = []
    for i in range(n):
        photo = load_sample_images().images[i % 2]
        side = int(rng.integers(128, 427))
        top, left = (int(rng.integers(0, edge - side + 1)) for edge in photo.shape[:2])
        crop = Image.fromarray(photo[top : top + side, left : left + side])
        images.append(np.asarray(crop.resize((width, height)), np.float32))
    return np.stack(images)


def captchas(rng, n, height, width):
    """Grey images of four letters under two strokes, `(n, 1, height, width)` from 0 to 1."""
    from PIL import Image, ImageDraw, ImageFont

    images = []
    for _ in range(n):
        page = Image.new("L", (width, height), int(rng.integers(200, 256)))
        draw = ImageDraw.Draw(page)
        font = ImageFont.load_default(size=int(height * 0.65))
        for place, letter in enumerate(rng.choice([*string.ascii_letters], 4)):
            corner = (6 + place * (width - 14) // 4, int(rng.integers(0, height // 5)))
            draw.text(corner, str(letter), int(rng.integers(0, 150)), font)
        for _ in range(2):
            ends = [int(rng.integers(end)) for end in (width, height, width, height)]
            draw.line(ends, int(rng.integers(0, 200)), 2)
        images.append(np.asarray(page, np.float32))
    return np.stack(images)[:, None] / 255


def sentences(rng, n, length, vocabulary):
    """Numbers of tokens, `(n, length)`, of which few are frequent, and masks of their lengths."""
    ranks = np.minimum(rng.zipf(1.2, (n, length)), vocabulary - 1)
    mask = np.arange(length) < rng.integers(length // 2, length + 1, (n, 1))
    return np.where(mask, ranks, 0).astype(np.int64), mask.astype(np.int64)
