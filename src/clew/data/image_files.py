"""Reading images: arrays of an .npz file, or PNG files in a folder for each class.

Arrays may be (n, height, width), (n, height, width, channels) or (n, channels, height, width), which the sizes tell
apart: an axis of channels has 1 to 4 entries. Nothing that is read can run code.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.data.column_types import MISSING_WORDS
from clew.data.images import LARGEST_PIXEL, Images
from clew.data.problems import SHOWN, Problems, shorten
from clew.errors import ConfigError, DataError, complain, did_you_mean

AXES = ("nhw", "nhwc", "nchw")
MOST_CHANNELS = 4
ARRAYS = ("images", "labels", "ids")
# What an archive can be wrong in; numpy and zipfile raise no class of their own.
DAMAGE = (
    OSError, ValueError, EOFError, KeyError, NotImplementedError, RuntimeError, MemoryError, OverflowError, TypeError,
    SyntaxError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_images(path: Path | str, axes: str | None = None, *, needs_label: bool = True) -> Images:
    """Read images of one size.

    Args:
        path: An .npz file with the arrays `images`, `labels` (n,) and, if wanted, `ids` (n,); or a folder with a folder
            of PNG files for each class, which needs the extra `images`.
        axes: What the axes of `images` are: "nhw", "nhwc" or "nchw", for number, height, width and channels. By default
            three axes are "nhw"; of four, the one with 1 to 4 entries is that of channels.
        needs_label: False where missing labels are no problem, as in prediction; PNG files may then stand in the folder
            itself.

    Raises:
        TableError: With a line for each thing that is wrong with the images.
        DataError: If the file cannot be read at all.
        ConfigError: If `axes` is unknown, or the extra is missing.
    """
    place = Path(path)
    if axes is not None and axes not in AXES:
        raise ConfigError(complain("read_images", "axes", "known", repr(axes), did_you_mean(str(axes), AXES)))
    try:
        is_folder = place.is_dir()
    except (OSError, ValueError) as error:
        raise DataError(
            complain(repr(str(path)), "the name of a file", "one that the system takes", str(error))
        ) from error
    images = _read_folder(place) if is_folder else _read_archive(place, axes)
    if images.labels is None and needs_label:
        remedy = "Put the images into a folder for each class." if is_folder else "Add an array 'labels'."
        raise DataError(complain(str(place), "labels", "given", "none", remedy))
    return images


def _read_archive(path: Path, axes: str | None) -> Images:
    arrays = _load_arrays(path)
    if "images" not in arrays:
        remedy = did_you_mean("images", arrays) if arrays else ""
        raise DataError(complain(str(path), "arrays", "images and labels", ", ".join(arrays) or "none", remedy))
    pixels = _as_pixels(path, arrays["images"], axes)
    problems = Problems(path)
    _note_pixels(pixels, problems)
    labels = None if "labels" not in arrays else _as_words(arrays["labels"], "labels", len(pixels), problems)
    ids = _as_words(arrays["ids"], "ids", len(pixels), problems) if "ids" in arrays else None
    problems.raise_if_any()
    numbers = tuple(map(str, range(len(pixels))))
    return Images(pixels.astype(np.float32), labels, numbers if ids is None else ids, path)


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Load what an archive has of the arrays that are read, and the names of the others."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise DataError(complain(str(path), "file", "one that can be read", reason)) from error
    if start != b"PK\x03\x04":
        got = "an empty file" if not start else "something else"
        remedy = "Write it with numpy.savez_compressed(file, images=..., labels=...)."
        raise DataError(complain(str(path), "file", "an .npz archive or a folder of folders", got, remedy))
    try:
        # numpy leaves a file that it opened itself open where the archive is damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            wanted = [name for name in ARRAYS if name in archive.files] or archive.files[:SHOWN]
            return {name: np.asarray(archive[name]) if name in ARRAYS else np.zeros(0) for name in wanted}
    except DAMAGE as error:
        reason = str(error) or type(error).__name__
        remedy = "Make it again with numpy.savez_compressed, without objects."
        raise DataError(complain(str(path), "file", "a whole .npz archive", reason, remedy)) from error


def _as_pixels(path: Path, array: NDArray[Any], axes: str | None) -> NDArray[Any]:
    """Bring the axes into order: (n, channels, height, width)."""
    where, shape = str(path), array.shape
    if array.dtype.kind not in "uifb":
        raise DataError(complain(where, "images", "numbers", str(array.dtype)))
    if 0 in shape or array.ndim not in (3, 4):
        rule = "(n, height, width), (n, height, width, channels) or (n, channels, height, width)"
        raise DataError(complain(where, "images", f"{rule} with n above 0", shape))
    if axes is not None and len(axes) != array.ndim:
        raise DataError(complain(where, "images", f"of {len(axes)} axes for axes='{axes}'", shape))
    if axes is None:
        axes = "nhw" if array.ndim == 3 else _find_channels(where, shape)
    if axes == "nhw":
        return array[:, None]
    return array if axes == "nchw" else array.transpose(0, 3, 1, 2)


def _find_channels(where: str, shape: tuple[int, ...]) -> str:
    is_first, is_last = shape[1] <= MOST_CHANNELS, shape[3] <= MOST_CHANNELS
    if is_first == is_last:
        rule = f"such that either the second or the last axis has 1 to {MOST_CHANNELS} entries, the channels"
        raise DataError(complain(where, "images", rule, shape, "Say axes='nhwc' or axes='nchw'."))
    return "nchw" if is_first else "nhwc"


def _note_pixels(pixels: NDArray[Any], problems: Problems) -> None:
    """Note images with pixels that are not finite, or too large."""
    if pixels.dtype.kind != "f":
        return
    for rule, is_good in (("finite", np.isfinite(pixels)), (f"at most {LARGEST_PIXEL:g} in size", _is_small(pixels))):
        wrong = np.flatnonzero(~is_good.all(axis=(1, 2, 3)))
        for row in wrong[:SHOWN]:
            channel, line, column = (int(axis[0]) for axis in np.nonzero(~is_good[row]))
            got = f"{pixels[row, channel, line, column]} at row {line}, column {column}"
            problems.add("", f"image {row}", "pixels", rule, got)
        problems.count_more("", "pixels", rule, len(wrong) - SHOWN)


def _is_small(pixels: NDArray[Any]) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return ~(np.abs(pixels) > LARGEST_PIXEL) | ~np.isfinite(pixels)


def _as_words(array: NDArray[Any], name: str, count: int, problems: Problems) -> tuple[str, ...] | None:
    """Give labels or ids as text; whole numbers without a decimal point."""
    if array.shape != (count,):
        problems.add("", "", name, f"({count},), one an image", array.shape)
        return None
    if array.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(array) | (array != np.floor(array)))
        for row in wrong[:SHOWN]:
            problems.add("", f"image {row}", name, "whole numbers or text", array[row])
        problems.count_more("", name, "whole numbers or text", len(wrong) - SHOWN)
        return None if len(wrong) else tuple(str(int(value)) for value in array)
    if array.dtype.kind not in "uibU":
        problems.add("", "", name, "whole numbers or text", array.dtype)
        return None
    words = tuple(map(str, array.tolist()))
    wrong = [row for row, word in enumerate(words) if word.strip().lower() in MISSING_WORDS]
    for row in wrong[:SHOWN]:
        problems.add("", f"image {row}", name, "given", shorten(words[row]))
    problems.count_more("", name, "given", len(wrong) - SHOWN)
    return words


def _read_folder(path: Path) -> Images:
    classes = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    files = [(file, folder.name) for folder in classes for file in _files(folder)] or [
        (file, None) for file in _files(path)
    ]
    if not files:
        raise DataError(complain(str(path), "folder", "one with a folder of PNG files for each class", "none"))
    problems = Problems(path)
    if classes and _files(path):
        got = ", ".join(file.name for file in _files(path)[:SHOWN])
        problems.add("", "", "images", "in the folder of a class", got)
    for folder in classes:
        if not _files(folder):
            problems.add("", f"folder '{folder.name}'", "class", "one with images", "none")
    pixels = [_read_png(file, problems) for file, _ in files]
    shapes = [array.shape for array in pixels if array is not None]
    for (file, _), array in zip(files, pixels, strict=True):
        if array is not None and array.shape != shapes[0]:
            rule = f"(channels, height, width) = {shapes[0]}, as the first"
            problems.add("", str(file.relative_to(path)), "image", rule, array.shape)
    problems.raise_if_any()
    labels = tuple(label for _, label in files if label is not None)
    ids = tuple(str(file.relative_to(path)) for file, _ in files)
    return Images(np.stack([array for array in pixels if array is not None]), labels or None, ids, path)


def _files(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.is_dir() and not entry.name.startswith("."))


def _read_png(path: Path, problems: Problems) -> NDArray[np.float32] | None:
    """Read one file as (channels, height, width); what is wrong is noted."""
    image_module = _import_pillow()
    try:
        with image_module.open(path, formats=("PNG",)) as image:
            if image.mode in ("1", "P"):
                image = image.convert("L" if image.mode == "1" else "RGB")
            if image.mode not in ("L", "RGB", "RGBA", "I;16"):
                problems.add("", _short(path, problems), "image", "grey, RGB or RGBA", image.mode)
                return None
            array = np.asarray(image, dtype=np.float32)
    # Pillow raises these, and its own error for images that are too large.
    except (
        OSError,
        ValueError,
        SyntaxError,
        TypeError,
        EOFError,
        image_module.DecompressionBombError,
        zlib.error,
    ) as error:
        reason = "another file" if "cannot identify" in str(error) else str(error)
        problems.add("", _short(path, problems), "file", "a whole PNG image", reason)
        return None
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def _short(path: Path, problems: Problems) -> str:
    return str(path.relative_to(problems.where))


def _import_pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        remedy = "Install it: pip install 'clew[images]'."
        raise ConfigError(complain("read_images", "package pillow", "installed", "nothing", remedy)) from error
    return Image
