import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from clew.data import ImagePreparation, Images, TableError, read_images
from clew.errors import ClewError, ConfigError, DataError

PIXELS = np.arange(5 * 6 * 7, dtype=np.uint8).reshape(5, 6, 7)


def save(folder: Path, **arrays: Any) -> Path:
    path = folder / "a.npz"
    np.savez_compressed(path, **arrays)
    return path


def test_the_axis_of_channels_is_told_by_its_size(tmp_path: Path) -> None:
    colours = np.stack([PIXELS, PIXELS + 1, PIXELS + 2], axis=1)
    labels = np.arange(5)
    grey = read_images(save(tmp_path, images=PIXELS, labels=labels))
    assert grey.pixels.shape == (5, 1, 6, 7) and grey.pixels.dtype == np.float32
    assert np.array_equal(grey.pixels[:, 0], PIXELS)
    for array in (colours, colours.transpose(0, 2, 3, 1)):
        images = read_images(save(tmp_path, images=array, labels=labels))
        assert np.array_equal(images.pixels, colours)
    assert images.labels == ("0", "1", "2", "3", "4") and images.ids == images.labels


def test_axes_can_be_said_where_the_sizes_do_not_tell(tmp_path: Path) -> None:
    array = np.arange(5 * 3 * 8 * 4).reshape(5, 3, 8, 4)
    path = save(tmp_path, images=array, labels=np.arange(5))
    with pytest.raises(DataError) as caught:
        read_images(path)
    assert str(caught.value) == (
        f"{path}: images must be such that either the second or the last axis has 1 to 4 entries, the channels, "
        "got (5, 3, 8, 4). Say axes='nhwc' or axes='nchw'."
    )
    assert read_images(path, "nchw").pixels.shape == (5, 3, 8, 4)
    assert np.array_equal(read_images(path, "nhwc").pixels, array.transpose(0, 3, 1, 2))
    with pytest.raises(ConfigError, match="axes must be known, got 'hwc'"):
        read_images(path, "hwc")
    with pytest.raises(DataError, match="of 3 axes for axes='nhw'"):
        read_images(path, "nhw")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"image": PIXELS}, "arrays must be images and labels, got image. Did you mean 'image'?"),
        ({"images": PIXELS}, "labels must be given, got none. Add an array 'labels'."),
        ({"images": PIXELS[:0]}, "with n above 0, got (0, 6, 7)."),
        ({"images": PIXELS[0]}, "with n above 0, got (6, 7)."),
        ({"images": PIXELS.astype(str)}, "images must be numbers, got <U3."),
        ({"images": PIXELS.astype(complex)}, "images must be numbers, got complex128."),
        ({"images": np.array([None, 1])}, "file must be a whole .npz archive"),
        ({"images": PIXELS, "labels": np.arange(4)}, "labels must be (5,), one an image, got (4,)."),
        ({"images": PIXELS, "labels": np.arange(5) / 2}, "image 1: labels must be whole numbers or text, got 0.5."),
        (
            {"images": PIXELS, "labels": np.array(["a", "b", " ", "d", "nan"])},
            "image 2: labels must be given, got ' '.",
        ),
    ],
)
def test_what_is_wrong_with_an_archive_is_told(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_images(save(tmp_path, **arrays))
    assert message in str(caught.value)


def test_all_bad_pixels_are_told_at_once(tmp_path: Path) -> None:
    pixels = PIXELS.astype(np.float64)
    pixels[1, 2, 3], pixels[4, 0, 0] = np.nan, 1e31
    with pytest.raises(TableError) as caught:
        read_images(save(tmp_path, images=pixels, labels=np.arange(6)))
    assert [problem.split(": ", 1)[1] for problem in caught.value.problems] == [
        "image 1: pixels must be finite, got nan at row 2, column 3.",
        "image 4: pixels must be at most 1e+30 in size, got 1e+31 at row 0, column 0.",
        "labels must be (5,), one an image, got (6,).",
    ]


def test_a_truncated_archive_is_told(tmp_path: Path) -> None:
    path = save(tmp_path, images=PIXELS, labels=np.arange(5))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="file must be a whole"):
        read_images(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="got an empty file"):
        read_images(path)


def save_folder(folder: Path) -> Path:
    for name, shade in (("cat", 10), ("dog", 200)):
        (folder / name).mkdir(parents=True)
        for number in range(2):
            Image.fromarray(np.full((4, 6), shade + number, np.uint8)).save(folder / name / f"{number}.png")
    return folder


def test_folders_are_classes(tmp_path: Path) -> None:
    images = read_images(save_folder(tmp_path / "pets"))
    assert images.labels == ("cat", "cat", "dog", "dog")
    assert images.ids == ("cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png")
    assert images.pixels.shape == (4, 1, 4, 6) and images.pixels[:, 0, 0, 0].tolist() == [10, 11, 200, 201]


def test_a_folder_of_images_alone_is_for_prediction(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(tmp_path / "x.png")
    images = read_images(tmp_path, needs_label=False)
    assert images.labels is None and images.pixels.shape == (1, 3, 4, 6)
    with pytest.raises(DataError, match="Put the images into a folder for each class"):
        read_images(tmp_path)


def test_all_bad_files_are_told_at_once(tmp_path: Path) -> None:
    folder = save_folder(tmp_path / "pets")
    (folder / "cat" / "2.png").write_bytes((folder / "cat" / "0.png").read_bytes()[:50])
    (folder / "cat" / "notes.txt").write_text("a cat")
    (folder / "dog" / "2.png").write_bytes(b"")
    Image.fromarray(np.zeros((5, 6), np.uint8)).save(folder / "dog" / "3.png")
    (folder / "empty").mkdir()
    with pytest.raises(TableError) as caught:
        read_images(folder)
    text = str(caught.value)
    assert len(caught.value.problems) == 5
    for part in ("folder 'empty': class", "cat/2.png: file", "cat/notes.txt: file", "dog/2.png: file", "(1, 5, 6)"):
        assert part in text


def test_a_missing_extra_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_folder(tmp_path / "pets")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ConfigError, match=r"package pillow must be installed.*pip install 'clew\[images\]'"):
        read_images(folder)


def make_images(count: int = 40, seed: int = 0) -> Images:
    generator = np.random.default_rng(seed)
    pixels = generator.normal(3, 2, (count, 2, 4, 3)).astype(np.float32)
    labels = tuple(str(9 + number % 2) for number in range(count))
    return Images(pixels, labels, tuple(f"n{number}" for number in range(count)), Path("made"))


def test_images_are_split_with_equal_shares_of_classes() -> None:
    parts = make_images().split((0.5, 0.25, 0.25), seed=3)
    assert [len(part) for part in parts] == [20, 10, 10]
    assert [part.labels.count("9") for part in parts if part.labels] == [10, 5, 5]
    assert sorted(name for part in parts for name in part.ids) == sorted(make_images().ids)


def test_scaling_is_that_of_the_training_part() -> None:
    parts = make_images().split(seed=1)
    fitted = ImagePreparation.fit(parts.train)
    inputs = fitted.apply(parts.train).inputs.astype(np.float64)
    assert fitted.classes == ("9", "10")
    assert np.allclose(inputs.mean(axis=(0, 2, 3)), 0, atol=1e-6) and np.allclose(inputs.std(axis=(0, 2, 3)), 1)
    other = fitted.apply(parts.test).inputs
    assert np.allclose(other[:, 1], (parts.test.pixels[:, 1] - fitted.means[1]) / fitted.deviations[1], atol=1e-6)


def test_rows_of_an_image_are_a_sequence() -> None:
    images = make_images(4)
    whole, rows = (ImagePreparation.fit(images, layout).apply(images) for layout in ("images", "rows"))
    batch = rows.whole()
    assert batch.inputs.shape == (4, 4, 6) and batch.valid is None
    # The row of both channels at one height, side by side.
    assert np.array_equal(batch.inputs[3, 1].numpy(), whole.inputs[3, :, 1].reshape(-1))
    assert list(rows.ids) == list(images.ids)


def test_an_image_preparation_comes_back_from_json() -> None:
    images = make_images()
    fitted = ImagePreparation.fit(images, "rows")
    again = ImagePreparation.from_mapping(json.loads(json.dumps(fitted.to_mapping())))
    assert again == fitted and again.apply(images).fingerprint() == fitted.apply(images).fingerprint()


def test_other_sizes_and_classes_are_told() -> None:
    images = make_images()
    fitted = ImagePreparation.fit(images)
    other = Images(images.pixels, ("8",) * 40, images.ids, Path("other"))
    with pytest.raises(TableError, match="other: image n0: class must be one of the 2 that training has, got '8'"):
        fitted.apply(other)
    assert set(np.asarray(fitted.apply(other, allow_unseen=True).targets).tolist()) == {-2}
    with pytest.raises(DataError, match="as in training, got \\(2, 4, 2\\)"):
        fitted.apply(Images(images.pixels[..., :2], images.labels, images.ids, Path("other")))
    with pytest.raises(DataError, match="classes must be at least 2, got 1: '8'"):
        ImagePreparation.fit(other)


def good_archive() -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, images=PIXELS, labels=np.arange(5))
    return stream.getvalue()


ARCHIVE = good_archive()
DAMAGED = st.tuples(st.integers(0, len(ARCHIVE) - 1), st.binary(min_size=1, max_size=4)).map(
    lambda change: ARCHIVE[: change[0]] + change[1] + ARCHIVE[change[0] + len(change[1]) :]
)


@given(content=st.one_of(st.binary(max_size=60), DAMAGED, st.integers(0, len(ARCHIVE)).map(lambda end: ARCHIVE[:end])))
def test_any_bytes_give_images_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.npz"
    path.write_bytes(content)
    try:
        assert read_images(path).pixels.ndim == 4
    except ClewError as error:
        assert str(error).startswith(f"{path}: ")


PNG = io.BytesIO()
Image.fromarray(PIXELS[0]).save(PNG, "PNG")


@given(place=st.integers(0, len(PNG.getvalue()) - 1), change=st.binary(min_size=1, max_size=5), end=st.integers(1, 200))
def test_any_png_gives_images_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: bytes, end: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    folder.mkdir(exist_ok=True)
    content = PNG.getvalue()
    (folder / "a.png").write_bytes((content[:place] + change + content[place + len(change) :])[:end])
    try:
        assert read_images(folder, needs_label=False).pixels.ndim == 4
    except ClewError as error:
        assert str(error).startswith(f"{folder}: ")
