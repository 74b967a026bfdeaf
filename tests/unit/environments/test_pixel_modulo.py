"""Which labels the images of ``pixel_modulo`` have."""

import torch

from assay.environments.pixel_modulo import PixelModulo

INDICES = range(24)


def images(labels):
    environment = PixelModulo(side=24, modulus=5, labels=labels)
    samples = environment.sample(INDICES, 0)
    return samples.x, environment.remainder(samples)


def test_images_of_label_zero_and_all_others_can_be_asked_for():
    assert (images("zero")[1] == 0).all()
    assert (images("other")[1] != 0).all()
    assert {0, 1, 2, 3, 4} == set(images("any")[1].tolist())


def test_an_image_that_is_asked_for_is_the_same_as_among_all():
    (every, remainder), (zero, _), (other, _) = images("any"), images("zero"), images("other")
    assert torch.equal(zero[remainder == 0], every[remainder == 0])
    assert torch.equal(other[remainder != 0], every[remainder != 0])


def test_an_image_drawn_again_depends_on_its_index_only():
    environment = PixelModulo(side=24, modulus=5, labels="zero")
    alone = torch.cat([environment.sample([index], 0).x for index in (7, 3, 11)])
    assert torch.equal(environment.sample([7, 3, 11], 0).x, alone)
    assert torch.equal(environment.sample(INDICES, 0).x[[7, 3, 11]], alone)
