"""What was published about CIFAR networks and Adult Income, on the real files; skipped where they are absent."""

import os
from hashlib import sha256

import numpy as np
import pytest
import torch

from assay.data.adult import COLUMNS, adult
from assay.data.batches import ARCHIVES
from assay.data.cifar import LABEL_SHA256, LABELS, SHEETS, images
from assay.data.folder import find, read
from assay.data.sheets import arrays, tiles
from assay.environments.cifar import Cifar
from assay.environments.public_table import PublicTable

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="needs data under ASSAY_DATA"),
]
COUNT = 1000


def accuracy(environment, seed=0, count=COUNT):
    model = environment.setting(seed, environment.train(seed)).model
    samples = environment.sample(range(count), 0)
    with torch.no_grad():
        answers = torch.cat([model(part) for part in samples.x.split(100)])
    return float((answers.argmax(dim=1) == samples.label).float().mean())


@pytest.mark.parametrize(
    ("dataset", "network", "published"),
    [
        ("cifar10", "resnet20", 0.9173),
        ("cifar10", "resnet8_wide_stem", 0.8959),
        ("cifar100", "resnet8_wide_stem", 0.6411),
        pytest.param("cifar10", "resnet32", 0.9263, marks=pytest.mark.full),
        pytest.param("cifar10", "resnet44", 0.9310, marks=pytest.mark.full),
        pytest.param("cifar100", "resnet14_wide_stem", 0.6830, marks=pytest.mark.full),
        pytest.param("cifar100", "resnet20_wide_stem", 0.6969, marks=pytest.mark.full),
    ],
)
def test_a_published_network_is_as_accurate_as_published(dataset, network, published, record_property):
    found = accuracy(Cifar(dataset, network))
    record_property("told", f"{dataset} {network}: {found:.3f} on {COUNT} test images, {published:.4f} published")
    error = (published * (1 - published) / COUNT) ** 0.5
    assert abs(found - published) < 3 * error  # 2.6 points at 91.73 %; three standard errors of 1,000 drawn images


@pytest.mark.parametrize(("dataset", "classes"), [("cifar10", 10), ("cifar100", 100)])
def test_the_test_set_is_whole_and_balanced(dataset, classes):
    found = images(dataset, "test")
    assert found.pixels.shape == (10000, 32, 32, 3)
    assert torch.from_numpy(found.label).bincount().tolist() == [10000 // classes] * classes


def test_samples_have_mean_0_and_deviation_1_in_every_colour():
    environment = Cifar("cifar10", "resnet8", "trained")
    x = environment.sample(range(2000), 0).x
    assert float(x.mean(dim=(0, 2, 3)).abs().max()) < 0.05
    assert float((x.std(dim=(0, 2, 3)) - 1).abs().max()) < 0.05


def test_the_public_test_file_can_be_made_from_the_images_and_has_its_sum():
    folder = find("cifar10")
    if folder is None:
        pytest.skip("needs the sheets")
    label = arrays(read(folder / LABELS, LABEL_SHA256["cifar10"]), ("test",))["test"]
    ((name, expected),) = SHEETS["cifar10", "test"].items()
    planes = tiles(read(folder / name, expected), 32).transpose(0, 3, 1, 2).reshape(10000, -1)
    raw = np.concatenate([label.astype(np.uint8)[:, None], planes], axis=1).tobytes()
    assert sha256(raw).hexdigest() == ARCHIVES["cifar10"].test["test_batch.bin"]


def test_adult_has_the_rows_and_columns_of_the_benchmark():
    whole, complete = adult(complete=False), adult()
    assert whole.shape == (48842, 15)
    assert complete.shape == (45222, 15)
    assert complete["income"].value_counts().to_dict() == {"<=50K": 34014, ">50K": 11208}
    texts = [name for name in COLUMNS if complete[name].dtype == object]
    assert sum(complete[name].nunique() for name in texts) == 98  # one-hot columns; with 6 numbers 104


def test_adult_is_divided_as_in_the_benchmark():
    environment = PublicTable()
    reference, samples = environment.training_rows(0), environment.sample(range(9045), 0)
    assert reference.x.shape == (36177, 104)
    assert samples.x.shape == (9045, 104)
    assert abs(float(reference.label.double().mean() - samples.label.double().mean())) < 1e-4  # stratified
    assert 0.75 < 1 - float(samples.label.double().mean()) < 0.753  # the majority: what a model has to exceed
    assert torch.allclose(reference.x.mean(dim=0), torch.zeros(104), atol=1e-5)
    assert torch.allclose(reference.x.std(dim=0, correction=0), torch.ones(104), atol=1e-3)


def test_one_epoch_on_adult_is_more_accurate_than_the_majority(record_property):
    found = accuracy(PublicTable(epochs=1), count=9045)
    record_property("told", f"adult after 1 epoch: {found:.3f}; 0.815 published after 200")
    assert 0.80 < found < 0.87


@pytest.mark.full
@pytest.mark.parametrize(("network", "width"), [("vgg11_bn", 16), ("resnet8", 16), ("vit", 64)])
def test_two_epochs_teach_a_small_network_more_than_chance(network, width, record_property):
    found = accuracy(Cifar("cifar10", network, "trained", width, epochs=2, train_rows=5000, reference_rows=100))
    record_property("told", f"cifar10 {network} after 2 epochs of 5,000 images: {found:.3f}")
    assert found > 0.2  # twice what guessing gives; 0.10 plus ten standard errors
