"""Models of texts and of token ids: with a tokenizer, from behind their embeddings, as a function of ids."""

from collections import UserDict
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from assay.core.errors import SpecError
from assay.core.features import Columns, Tokens
from assay.core.setting import model_copy
from assay.foreign.models import has_gradients
from assay.users.embedded import embedded
from assay.users.known import Known, known
from assay.users.rows import Rows
from assay.users.take import take_model
from streams import seeded

WORDS = ("[PAD]", "good", "bad", "film", "plot")
TEXTS = ["good film", "bad film plot", "good good bad"]
IDS = torch.tensor([[1, 3, 4], [2, 3, 4], [1, 1, 2]])


class Classifier(nn.Module):
    """The mean embedding of the words that count, and two logits."""

    config = SimpleNamespace(id2label={0: "NEG", 1: "POS"})

    @seeded()
    def __init__(self, masks=True):
        super().__init__()
        self.words, self.places, self.head = nn.Embedding(5, 6), nn.Embedding(8, 6), nn.Linear(6, 2)
        self.masks = masks
        self.eval()

    def forward(self, input_ids, attention_mask=None):
        counts = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        counts = counts * (input_ids != 0) if self.masks else counts
        stream = torch.tanh(self.words(input_ids) + self.places(torch.arange(input_ids.shape[1])))
        mean = (stream * counts[..., None]).sum(dim=1) / counts.sum(dim=1, keepdim=True).clamp(min=1)
        return UserDict(logits=self.head(mean))


class Tokenizer:
    """As those of Hugging Face."""

    def __call__(self, texts, padding, truncation, return_tensors):
        assert (padding, truncation, return_tensors) == (True, True, "pt")
        rows = [[WORDS.index(word) for word in text.split()] for text in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows]).view(len(rows), longest)
        return UserDict(input_ids=ids, attention_mask=(ids != 0).long())

    def __deepcopy__(self, memo):
        raise AssertionError("it takes long")


STEP = 2.0**-10  # the entries of text i are 1 + i * STEP
PRESENT = torch.tensor([[1.0, 1, 0], [1, 1, 1], [1, 1, 1]]) * (1 + STEP * torch.arange(3.0))[:, None]


def read_back(x):
    """The words that are kept."""
    numbers = ((x.max(dim=1).values - 1) / STEP).round().long().clamp(0, 2).tolist()
    return [
        " ".join(word for word, keep in zip(TEXTS[number].split(), kept, strict=False) if keep > 0.5)
        for number, kept in zip(numbers, x, strict=True)
    ]


TEXT_ROWS = Rows(PRESENT, Columns.plain(3), "tokens", given=read_back)
ID_ROWS = Rows(IDS.float(), Columns.plain(3), "tokens", given=lambda x: x.round().long(), reference=IDS[:2].float())


def pipeline(model, tokenizer):
    made = type("Pipeline", (), {"__module__": "transformers.pipelines.base"})()
    made.model, made.tokenizer = model, tokenizer
    return made


@pytest.mark.parametrize("made", [lambda m, t: (m, t), pipeline], ids=["pair", "pipeline"])
def test_texts_are_tokenised_anew_at_every_call(made):
    model = Classifier()
    taken = take_model(made(model, Tokenizer()), TEXT_ROWS)
    texts = ["good", "bad film plot", "good bad"]
    kept = PRESENT * torch.tensor([[1.0, 0, 0], [1, 1, 1], [1, 0, 1]])
    expected = model(**Tokenizer()(texts, True, True, "pt"))["logits"].detach()
    assert_close(taken.module(kept), expected)
    assert_close(model_copy(taken.module)(kept), expected)
    assert (taken.outputs, taken.classes) == ("logits", ("NEG", "POS"))
    assert taken.notes == (
        "The model answers with logits of 2 classes (NEG, POS); output 'logits' of UserDict (logits: float32 (3, 2)); "
        "rows reach it as texts, tokenised anew.",
    )
    assert not has_gradients(taken.module, kept)


def test_a_tokenizer_needs_texts():
    with pytest.raises(SpecError, match="reads texts, and x holds none: give x as a list of texts"):
        take_model((Classifier(), Tokenizer()), ID_ROWS)


def test_what_classes_are_only_numbered_have_no_names():
    model = Classifier()
    model.config = SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1"})
    assert take_model(model, ID_ROWS).classes == ()


def test_ids_become_embeddings_with_gradients():
    model = Classifier()
    behind, rows = embedded(model, ID_ROWS)
    assert rows.features == Tokens(3, 6)
    assert_close(rows.x, model.words(IDS).detach())
    assert_close(rows.reference, rows.x[:2])
    assert rows.notes == ("Tokens are explained by their embeddings, 6 numbers each, of the model's 'words'.",)
    taken = take_model(behind, rows)
    assert_close(taken.module(rows.x), model(IDS)["logits"].detach())
    assert_close(model_copy(taken.module)(rows.x), model(IDS)["logits"].detach())
    assert has_gradients(taken.module, rows.x)
    assert len(taken.notes) == 1
    assert taken.classes == ("NEG", "POS")
    other = rows.x.clone()
    other[:, 1] = 0.0
    assert not torch.equal(taken.module(other), taken.module(rows.x))


def test_a_dict_of_ids_and_masks_becomes_embeddings():
    rows = replace(
        ID_ROWS, given=lambda x: {"input_ids": x.long().numpy(), "attention_mask": torch.ones(x.shape).numpy()}
    )
    model = Classifier()
    behind, found = embedded(model, rows)
    assert_close(take_model(behind, found).module(found.x), model(IDS)["logits"].detach())


def test_a_model_that_also_reads_the_ids_stays_a_function_of_ids():
    padded = replace(ID_ROWS, x=torch.tensor([[1.0, 3, 0], [2, 3, 4], [1, 0, 0]]))
    model = Classifier()
    same, found = embedded(model, padded)
    assert same is model
    assert found.features == padded.features
    assert "function of ids, which has no gradients" in found.notes[0]
    taken = take_model(same, found)
    assert_close(taken.module(padded.x), model(padded.x.long())["logits"].detach())
    behind, rows = embedded(Classifier(masks=False), padded)
    assert rows.features == Tokens(3, 6)
    assert isinstance(behind, nn.Module)


@pytest.mark.parametrize("model", [nn.Linear, lambda x: x], ids=["no table", "function"])
def test_models_without_a_table_of_embeddings_stay_as_they_are(model):
    with seeded():
        model = model(3, 2) if isinstance(model, type) else model
    assert embedded(model, ID_ROWS)[0] is model
    assert embedded(model, ID_ROWS)[1].x is ID_ROWS.x
    table = replace(ID_ROWS, kind="table")
    assert embedded(Classifier(), table)[1] is table


def test_what_is_known_of_a_model_of_tokens():
    facts = Known(torch.float32, (), ("input_ids", "attention_mask"), True, True)
    assert known(Classifier()) == facts
    assert known((Classifier(), Tokenizer())) == replace(facts, tokens=False)


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("transformers")


@pytest.mark.full  # the library takes seconds to import
def test_a_classifier_of_texts_of_the_library(library):
    from tokenizers import Tokenizer as Tokens_
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    inner = Tokens_(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[PAD]"))
    inner.pre_tokenizer = Whitespace()
    tokenizer = library.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", model_max_length=16)
    with seeded():
        model = library.BertForSequenceClassification(
            library.BertConfig(vocab_size=5, id2label={0: "NEG", 1: "POS"}, **SIZES)
        ).eval()
    for given in ((model, tokenizer), library.TextClassificationPipeline(model=model, tokenizer=tokenizer)):
        taken = take_model(given, TEXT_ROWS)
        expected = model(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits.detach()
        assert_close(taken.module(TEXT_ROWS.x), expected, rtol=1e-4, atol=1e-5)
        assert taken.classes == ("NEG", "POS")
    behind, rows = embedded(model, ID_ROWS)
    assert rows.features == Tokens(3, 16)
    assert_close(take_model(behind, rows).module(rows.x), model(IDS).logits.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.full
def test_a_classifier_of_images_of_the_library(library):
    from assay.core.features import Pixels

    with seeded():
        config = library.ViTConfig(image_size=8, patch_size=4, num_labels=3, **SIZES)
        model = library.ViTForImageClassification(config).eval()
    x = torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    taken = take_model(model, Rows(x, Pixels(3, 8, 8), "image"))
    assert_close(taken.module(x), model(pixel_values=x).logits.detach(), rtol=1e-4, atol=1e-5)
    assert taken.classes == ()
    assert "output 'logits' of ImageClassifierOutput" in taken.notes[0]
    assert has_gradients(taken.module, x)
