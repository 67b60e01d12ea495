"""The widget of learned heads; its arithmetic is ``toy_language.js`` and ``toy_model.js``."""

import base64
import functools

import torch
import traitlets

from hydra_lib.toy.language import SYMBOLS, Corpus, Reader, corpus, encode
from hydra_lib.toy.model import ToyModel, stored
from hydra_lib.toy.roles import ROLES, role_scores
from hydra_lib.widgets._base import Setting, SettingError, Text, Widget, inside, proposed
from hydra_lib.widgets._bundle import bundle

__all__ = ["HeadViewerWidget"]

LONGEST = 48  # what the model was trained on
INDEX = {"low": 0, "high": 99, "whole": True}
MOST_HEADS = 100 * 100
NAMED = [role for role in ROLES if "," not in role]  # hard cases are no role
DOCUMENT = "^ArCdogs(cat)s*Cdo"  # every kind of question, in words one can read


class HeadViewerWidget(Widget):
    """Choose a head and a symbol of a document: where the head looks, and what the model says next.

    Where a head of a later layer gives half of its attention or more to one symbol, dashed arcs
    show where heads of the layer before gave half of theirs or more, from this symbol and from the
    asking one; looks at themselves and at ^ are left out.

    ``model`` is a :class:`hydra_lib.toy.model.ToyModel` over the 40 symbols, the stored one unless
    given; the page runs it from its weights in half precision. ``text`` is a document of 2 to 48
    symbols, ``layer``, ``head`` and ``position`` (of a symbol) are counted from 0. Unless given,
    the head is the one with the best induction score, the position the last that asks for a
    look-up. ``off`` takes a head away, counted from 0 through the layers; at -1 none. ``seed``
    numbers the documents that the page draws.
    ``guesses`` has a word for each head, layer after layer: "told" shows its role, and is what all
    of them are unless given; "?" hides it until the reader has guessed; else it is the guess, a
    role or "nothing".

    ``scores`` are :func:`hydra_lib.toy.roles.role_scores` of 400 held-out documents, made here.

    Raises TypeError for a model of another kind; ValueError for one over other symbols or whose
    weights are not finite in half precision, for a text that the rules do not allow, for a layer,
    head or position that does not exist, or a head that is to be off, and for guesses that are not
    one for each head.
    """

    _esm = bundle("head_viewer_widget.js")
    name = Text("head_viewer").tag(sync=True)
    weights = traitlets.Dict().tag(sync=True)
    """``n_heads``; ``shapes``, a list of names and shapes; ``data``, the float16 numbers of all in
    this order, row by row: all high bytes, then all low ones (they pack better), in base64."""

    scores = traitlets.Dict().tag(sync=True)
    text = Text(DOCUMENT).tag(sync=True)
    layer = Setting(0, **INDEX)
    head = Setting(0, **INDEX)
    position = Setting(0, low=0, high=LONGEST - 1, whole=True)
    off = Setting(-1, low=-1, high=MOST_HEADS - 1, whole=True)
    seed = Setting(0, low=0, high=2**32 - 1, whole=True)
    guesses = Setting(["told"], options=("told", "?", *NAMED, "nothing"), shape=(MOST_HEADS,))

    def __init__(self, model=None, text=DOCUMENT, layer=None, head=None, position=None, **traits):
        check_document(text)
        model, scores = _stored_scored() if model is None else _scored(model)
        best = int(scores["induction"].argmax())
        n_heads = model.layers[0].config.n_heads
        layer = best // n_heads if layer is None else HeadViewerWidget.layer.validate(self, layer)
        if head is None:
            head = int(scores["induction"][layer].argmax()) if 0 <= layer < len(model.layers) else 0
        super().__init__(
            weights=_packed(model),
            scores={role: x.tolist() for role, x in scores.items()},
            text=text,
            layer=layer,
            head=head,
            position=_opening(text) if position is None else position,
            **{"guesses": ["told"] * scores["induction"].numel()} | traits,
        )

    @traitlets.validate("guesses")
    def _check_guesses(self, proposal):
        heads = sum(map(len, self.scores["induction"]))
        if len(proposal["value"]) != heads:
            raise SettingError(f"guesses must be {heads} words, got {len(proposal['value'])}")
        return proposal["value"]

    @traitlets.validate("text", "layer", "head", "position", "off")
    def _check_fit(self, proposal):
        setting = proposed(proposal, "text", "layer", "head", "position", "off")
        try:
            check_document(setting["text"])
        except ValueError as error:
            raise SettingError(str(error)) from None
        layers = self.scores["induction"]
        inside("layer", setting["layer"], len(layers))
        inside("head", setting["head"], len(layers[0]))
        inside("position", setting["position"], len(setting["text"]))
        if setting["off"] != -1:
            inside("off", setting["off"], sum(map(len, layers)))
        return proposal["value"]


def _scored(model: object) -> tuple[ToyModel, dict[str, torch.Tensor]]:
    """The model as the page has it, and what each of its heads was found to do."""
    rounded = _rounded(model)
    return rounded, role_scores(rounded, _held_out())


@functools.cache
def _stored_scored() -> tuple[ToyModel, dict[str, torch.Tensor]]:
    return _scored(stored())


@functools.cache
def _held_out() -> Corpus:
    """Documents that no model is trained on."""
    return corpus(documents=400, seed=1_000_000)


def check_document(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, got {type(text).__name__}")
    encode(text)  # refuses other symbols
    if not 2 <= len(text) <= LONGEST:
        raise ValueError(f"text must have 2 to {LONGEST} symbols, got {len(text)}")
    if text[0] != "^":
        raise ValueError(f"text must start with ^, got {text[0]}")
    reader = Reader()
    for symbol in text:
        reader.read(symbol)


def _opening(text: str) -> int:
    """The last symbol that asks for a look-up whose outcome stands in the text; else the last."""
    reader, found = Reader(), len(text) - 1
    for position, symbol in enumerate(text[:-1]):
        reader.read(symbol)
        found = position if reader.job != "none" else found
    return found


def _rounded(model: object) -> ToyModel:
    """A float32 copy with the weights that the page has."""
    if not isinstance(model, ToyModel):
        raise TypeError(f"model must be a ToyModel, got {type(model).__name__}")
    if len(model.unembed.weight) != len(SYMBOLS):
        raise ValueError(
            f"model must be over {len(SYMBOLS)} symbols, got {len(model.unembed.weight)}"
        )
    halves = {name: x.half() for name, x in model.state_dict().items()}
    if strange := [name for name, x in halves.items() if not x.isfinite().all()]:
        raise ValueError(f"model must be finite in half precision, got NaN or ±∞ in {strange[0]}")
    copy = ToyModel(model.layers[0].config, len(model.layers), generator=torch.Generator())
    copy.load_state_dict({name: x.float() for name, x in halves.items()})
    return copy


def _packed(model: ToyModel) -> dict:
    state = model.state_dict()
    data = b"".join(x.numpy().astype("<f2").tobytes() for x in state.values())
    data = data[1::2] + data[::2]
    return {
        "n_heads": model.layers[0].config.n_heads,
        "shapes": [[name, list(x.shape)] for name, x in state.items()],
        "data": base64.b64encode(data).decode("ascii"),
    }
