"""Small files of each kind, with something to learn, for the commands of one's own files."""

import random
from pathlib import Path

import numpy as np

TAGS = {"o": "DET", "gato": "NOUN", "come": "VERB", "peixe": "NOUN", "e": "CCONJ", "dorme": "VERB", "azul": "ADJ"}


def write_table(path: Path, sequences: int = 60, label: bool = True, seed: int = 1) -> Path:
    """Two classes that differ in their mean; sequences of 2 to 5 steps."""
    draw = random.Random(seed)
    lines = ["sequence,time,x,y" + (",label" if label else "")]
    for number in range(sequences):
        name = "high" if number % 2 else "low"
        for step in range(draw.randint(2, 5)):
            values = f"s{number:03d},{step},{draw.gauss(2 * (number % 2), 1):.4f},{draw.gauss(0, 1):.4f}"
            lines.append(values + (f",{name}" if label else ""))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_treebank(path: Path, sentences: int = 30, seed: int = 2, tagged: bool = True) -> Path:
    """Sentences of words that have one tag each."""
    draw = random.Random(seed)
    lines = []
    for number in range(sentences):
        lines.append(f"# sent_id = s{number}")
        for place in range(draw.randint(3, 6)):
            word = draw.choice(list(TAGS))
            tag = TAGS[word] if tagged else "_"
            lines.append("\t".join([str(place + 1), word, "_", tag, *"______"]))
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_text(path: Path, lines: int = 60, seed: int = 3) -> Path:
    """Sentences of a few words."""
    draw = random.Random(seed)
    path.write_text(
        "".join(f"{draw.choice(['a cat', 'the dog'])} {draw.choice(['sat', 'ran'])}.\n" for _ in range(lines))
    )
    return path


def write_tokens(path: Path, sentences: int = 40, seed: int = 6) -> Path:
    """Sentences of a few words, a row a word."""
    draw = random.Random(seed)
    rows = ["sentence,word"]
    for number in range(sentences):
        words = (draw.choice(["the", "a"]), draw.choice(["cat", "dog"]), draw.choice(["sat", "ran"]))
        rows += [f"{number},{word}" for word in (*words, *draw.choices(["down", "off"], k=draw.randint(0, 3)))]
    path.write_text("\n".join(rows) + "\n")
    return path


def write_series(path: Path, steps: int = 240, seed: int = 4) -> Path:
    """An hourly series with a day's season."""
    draw = random.Random(seed)
    rows = ["time,load"]
    for step in range(steps):
        value = 100 + 20 * np.sin(2 * np.pi * step / 24) + draw.gauss(0, 1)
        rows.append(f"2024-01-{step // 24 + 1:02d} {step % 24:02d}:00:00,{value:.3f}")
    path.write_text("\n".join(rows) + "\n")
    return path


def write_images(path: Path, count: int = 40, seed: int = 5) -> Path:
    """Images of 4 x 4 that are bright above or below."""
    draw = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    images = draw.normal(0, 0.3, (count, 4, 4))
    images[labels == 1, :2] += 2
    images[labels == 0, 2:] += 2
    np.savez(path, images=images.astype(np.float32), labels=labels)
    return path
