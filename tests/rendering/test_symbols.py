"""Letters with indices become subscripts on a page, names with underscores do not."""

import pytest

from clew.rendering.symbols import with_indices


@pytest.mark.parametrize(
    ("words", "html"),
    [
        ("h_-1", "h<sub>-1</sub>"),
        ("φ'(z_2) w_h", "φ&#39;(z<sub>2</sub>) w<sub>h</sub>"),
        ("g^h_(t-1),j", "g<sup>h</sup><sub>(t-1),j</sub>"),
        ("dL/dh_0", "dL/dh<sub>0</sub>"),
        ("W_h,0j", "W<sub>h,0j</sub>"),
        ("W_h, b_x = 1", "W<sub>h</sub>, b<sub>x</sub> = 1"),
        ("A_6j = W_Q d_k", "A<sub>6j</sub> = W<sub>Q</sub> d<sub>k</sub>"),
        ("a < b", "a &lt; b"),
        ("torch.manual_seed(6), bias_hh, x_max, `h_0`", "torch.manual_seed(6), bias_hh, x_max, `h_0`"),
    ],
)
def test_only_symbols_get_indices(words: str, html: str) -> None:
    assert str(with_indices(words)) == html
