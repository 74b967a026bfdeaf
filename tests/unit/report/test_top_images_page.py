"""The page's pictures of top activating images: which samples, in which order, and which both networks have."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.catalogue.build import component_and_name
from assay.engine.execute.run import Finished, run
from assay.report.loaded_run import load_run
from assay.report.page import page
from assay.report.top_images_page import Channel, top_images_panels
from assay.studies.file import read

K, SAMPLES = 3, 20
DRAWN = (
    "cifar(dataset='drawn', network='resnet8', weights='trained', width=4, train_rows=96, reference_rows=48, "
    "batch=16, lr=0.01, epochs={})"
)
PAIR = f"beside(of={DRAWN.format(3)}, other={DRAWN.format(0)})"
TABLE = "in_domain(of=tabular_rule(train_rows=64, epochs=1), epochs=1)"


def finished(folder: Path, environment: str, metric: str) -> Finished:
    table = {"environments": [environment], "methods": ["gradient", "random_map"], "metrics": [metric, "spearman"]}
    return run(read({**table, "seeds": [0, 1], "samples": SAMPLES, "block": 12, "gallery": 0}, "top"), folder)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        return finished(tmp_path_factory.mktemp("pair"), PAIR, f"top_images(k={K})")


def top(values: list[float]) -> list[int]:
    """One sample after another; those with the lowest activation do not count."""
    order = sorted(range(len(values)), key=lambda at: (-values[at], at))
    return [at for at in order[:K] if values[at] > min(values)]


def activations(found: Finished) -> tuple[np.ndarray, np.ndarray]:
    """Of the first seed's samples that were asked for, read from the evidence."""
    series = found.run.data["trials"][0]
    (metric,) = series["probes"]
    records = found.store.get_many(series["evidence"][metric])
    blocks = [found.store.load(records[key]) for key in series["evidence"][metric]]
    own, other = (np.concatenate([block[f"rows.{name}"] for block in blocks])[:SAMPLES] for name in ("own", "other"))
    return own, other


def test_the_channels_with_most_and_with_least_in_common_are_shown(pair: Finished, tmp_path: Path) -> None:
    (panel,) = top_images_panels(load_run(pair.store), tmp_path)
    own, other = activations(pair)
    varying = [column for column in range(own.shape[1]) if np.ptp(own[:, column]) > 0 < np.ptp(other[:, column])]
    share = {column: _share(own[:, column].tolist(), other[:, column].tolist()) for column in varying}
    falling = sorted(varying, key=lambda column: (-share[column], column))
    assert [channel.number for channel in panel.channels] == [*falling[:3], *falling[-3:]]
    assert len(set(share.values())) > 2
    for channel in panel.channels:
        assert channel.share == pytest.approx(share[channel.number])
        _check_sides(channel, own[:, channel.number].tolist(), other[:, channel.number].tolist())
    assert (panel.samples, panel.varying) == (SAMPLES, len(varying))


def _share(own: list[float], other: list[float]) -> float:
    left, right = top(own), top(other)
    return len(set(left) & set(right)) / max(len(left), len(right))


def _check_sides(channel: Channel, own: list[float], other: list[float]) -> None:
    expected = [top(own), top(other)]
    for side, samples in zip(channel.sides, expected, strict=True):
        assert [image.sample for image in side] == samples
        assert [image.common for image in side] == [
            sample in expected[0] and sample in expected[1] for sample in samples
        ]


def test_the_pictures_are_those_of_the_samples(pair: Finished, tmp_path: Path) -> None:
    (panel,) = top_images_panels(load_run(pair.store), tmp_path)
    environment = component_and_name("environments", PAIR)[0]
    setting = environment.setting(0, environment.train(0))
    image = panel.channels[0].sides[1][-1]
    picture = setting.picture(environment.sample([image.sample], 0).x)[0]
    drawn = np.asarray(Image.open(tmp_path / image.source)).astype(float)
    side = picture.shape[1]
    assert drawn.shape[0] % side == 0
    factor = drawn.shape[0] // side
    np.testing.assert_allclose(drawn[::factor, ::factor] / 255, picture.permute(1, 2, 0).numpy(), atol=0.5 / 255 + 1e-6)


def test_the_page_frames_what_both_have(pair: Finished, tmp_path: Path) -> None:
    path = page(pair.store, tmp_path / "r")
    section = path.read_text().partition('<section id="top-images">')[2].partition("</section>")[0]
    (panel,) = top_images_panels(load_run(pair.store), tmp_path / "again")
    images = [image for channel in panel.channels for side in channel.sides for image in side]
    assert section.count("<img") == len(images)
    assert section.count('class="common"') == section.count(", in both") == sum(image.common for image in images) > 0
    sources = set(re.findall(r'src="([^"]+)"', section))
    assert sources == {image.source for image in images}
    assert all((path.parent / source).is_file() for source in sources)


def test_lost_pictures_are_said(pair: Finished, tmp_path: Path) -> None:
    store = pair.store
    key = pair.run.data["trials"][0]["probes"][f"top_images(k={K})"][0]
    array = store.arrays.path(store.get_many([key])[key].arrays)  # type: ignore[attr-defined]
    raw = array.read_bytes()
    array.unlink()
    try:
        assert "nothing to show" in page(store, tmp_path / "r").read_text().partition('id="top-images"')[2]
    finally:
        array.write_bytes(raw)


def test_data_without_pictures_has_no_such_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    found = finished(tmp_path / "store", TABLE, f"top_images(layer='network.1', k={K})")
    assert {score.reason for score in load_run(found.store).result.scores()} == {""}
    assert 'id="top-images"' not in page(found.store, tmp_path / "r").read_text()
