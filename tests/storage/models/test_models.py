"""Saving and loading: what comes back is what was saved, and a file never runs code, whatever it holds."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, QuantileTransformer, StandardScaler

from plackett import __version__
from plackett._parameters import Parameters
from plackett.data.preprocessing.scaling import QueryMinMax, QueryZScore
from plackett.exceptions import ModelFormatError
from plackett.metrics.measure import Measure
from plackett.storage.container import ContainerWriter
from plackett.storage.models import describe, load, register, registered, save
from tests.storage.containers import array_in, parts_of, sealed, signed, with_array


@register
class Weight(Parameters):
    def __init__(self, k=3, base=None):
        self.k, self.base = k, base


@register
class Ranker(BaseEstimator):
    _persisted = ("_levels",)

    def __init__(self, loss="listmle", l2=1e-3, normalize=None, random_state=None):
        self.loss, self.l2, self.normalize, self.random_state = loss, l2, normalize, random_state


@register
class Checked(BaseEstimator):
    def __init__(self, n=1):
        self.n = n

    def check_loaded(self):
        if len(self.coef_) != self.n_features_in_:
            raise ValueError(f"{len(self.coef_)} coefficients for {self.n_features_in_} features.")


class Stranger(BaseEstimator):
    pass


for _normalizer in (QueryMinMax, QueryZScore):
    register(_normalizer)

NAME = f"{__name__}.Ranker"


def fitted(**params):
    ranker = Ranker(**params)
    ranker.coef_ = np.array([0.1, -2.0, 1 / 3])
    ranker.n_features_in_ = 3
    ranker.feature_names_in_ = np.array(["bm25", "länge", "tf·idf"], dtype=object)
    ranker.history_ = [{"value": 0.5, "n": 1}, {"value": math.inf, "n": 2}]
    ranker._levels = np.array([0, 1, 2], dtype=np.int8)
    ranker._cache = "not kept"
    return ranker


def as_bytes(estimator):
    file = io.BytesIO()
    save(estimator, file)
    return file.getvalue()


def through(estimator):
    return load(io.BytesIO(as_bytes(estimator)))


def same(a, b):
    """Whether two values are equal in type, shape and every bit that counts."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return all(map(same, a.flat, b.flat)) if a.dtype == object else a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        return a.shape == b.shape and all(same(getattr(a, p), getattr(b, p)) for p in ("data", "indices", "indptr"))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a.items()), list(b.items()))
    if isinstance(a, (BaseEstimator, Parameters)):
        kept = [sorted((k, v) for k, v in vars(part).items() if k != "_cache") for part in (a, b)]
        return same(*kept)
    return repr(a) == repr(b) if isinstance(a, (float, complex, np.inexact)) else a == b


# --- What was saved comes back ---------------------------------------------------------------------------------------

VALUES = {
    "none": None,
    "bool": True,
    "int": 2**80,
    "float": 0.1 + 0.2,
    "minus zero": -0.0,
    "nan": math.nan,
    "inf": -math.inf,
    "text": 'é "\\ \x00 \udc80 中',
    "bytes": b"\x00\xff",
    "list": [1, [2.5, None], []],
    "tuple": (1, ("a",), ()),
    "dict": {"a": 1, "type": {"b": (2,)}},
    "dict with other keys": {1: "x", 2.5: "y", None: 0, ("q", 7): 1, False: 3, np.int64(9): 4, np.str_("s"): 5},
    "float32 scalar": np.float32(0.1),
    "longdouble scalar": np.longdouble(1) / 3,
    "complex scalar": np.complex64(1 + 2j),
    "bool scalar": np.bool_(True),
    "uint64 scalar": np.uint64(2**64 - 1),
    "text scalar": np.str_("é"),
    "bytes scalar": np.bytes_(b"ab"),
    "dtype": np.dtype(">f4"),
    "object dtype": np.dtype(object),
    "numpy type": np.float32,
    "objects of text": np.array(["a", "bé", ""], dtype=object),
    "objects of scalars": np.array([[1, 2.5], [None, "x"]], dtype=object),
    "objects of tuples": np.fromiter([(1, "a"), (2, "b")], dtype=object, count=2),
    "no objects": np.empty((0, 3), dtype=object),
    "records": np.array([(3, 0.5), (1, -2.0)], dtype=[("feature", np.int64), ("weight", np.float64)]),
    "no records": np.array([], dtype=[("feature", np.int64), ("weight", ">f4")]),
    "csr matrix": sparse.csr_matrix(np.array([[0.0, 1.5, 0.0], [2.5, 0.0, 0.0]], dtype=np.float32)),
    "csr array": sparse.csr_array(np.array([[0, 1], [0, 0], [3, 0]])),
    "empty csr": sparse.csr_matrix((3, 4)),
    "parameters": Weight(k=np.int64(5), base=(0.5, math.inf)),
    "nested parameters": Weight(base=Weight(k=None)),
    "estimator": fitted(loss=Weight(k=7)),
    "normaliser": QueryMinMax().fit([[1.0, 2.0]]),
    "measure": Measure.parse("err@20(max_label=4)"),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_a_value_comes_back_as_it_was_as_a_parameter_and_as_something_learned(value):
    ranker = Ranker(loss=value)
    ranker.learned_ = [value]
    back = through(ranker)
    assert same(back.loss, value)
    assert same(back.learned_, [value])


DTYPES = ["?", "i1", "<i2", ">i4", "i8", "u1", ">u8", "f2", ">f4", "f8", "longdouble", "c8", "c16", "S5", "<U4", ">U4"]


@pytest.mark.parametrize("shape", [(), (0,), (6,), (2, 3), (0, 4), (1, 2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_array_comes_back_bit_by_bit(dtype, shape):
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    for case in (array, np.asfortranarray(array), array[..., ::-1] if array.ndim else array):
        ranker = Ranker()
        ranker.coef_ = case
        back = through(ranker).coef_
        assert same(back, case)
        assert back.flags.writeable
        assert back.flags.f_contiguous or not case.flags.f_contiguous


def test_special_floats_in_arrays_keep_their_bits():
    ranker = Ranker()
    ranker.coef_ = np.array([np.nan, -np.nan, np.inf, -0.0, 5e-324])
    assert same(through(ranker).coef_, ranker.coef_)


def test_a_memory_mapped_array_is_saved_as_an_array(tmp_path):
    mapped = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(4,))
    mapped[:] = [1, 2, 3, 4]
    ranker = Ranker()
    ranker.coef_ = mapped
    assert same(through(ranker).coef_, np.array([1.0, 2, 3, 4]))


def test_parameters_learned_attributes_and_listed_private_ones_are_kept_and_nothing_else(tmp_path):
    ranker = fitted(l2=0.5)
    save(ranker, tmp_path / "m.plackett")
    back = load(str(tmp_path / "m.plackett"))
    assert same(ranker, back)
    assert not hasattr(back, "_cache")
    assert os.listdir(tmp_path) == ["m.plackett"]


def test_an_estimator_that_was_not_fitted_can_be_saved():
    assert vars(through(Ranker(l2=2))) == vars(Ranker(l2=2))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), StandardScaler(), QuantileTransformer(n_quantiles=5)], ids=repr)
def test_fitted_transformers_of_scikit_learn_come_back(scaler):
    X = np.random.default_rng(0).normal(size=(20, 3))
    scaler.fit(X)
    back = through(Ranker(normalize=scaler)).normalize
    assert type(back) is type(scaler)
    np.testing.assert_array_equal(back.transform(X), scaler.transform(X))


def test_losses_come_back():
    from plackett import losses

    for name in losses.loss_names():
        loss = losses.get_loss(name)
        register(type(loss))
        assert through(Ranker(loss=loss)).loss == loss


def test_equal_models_give_equal_files(tmp_path):
    save(fitted(), tmp_path / "a")
    save(fitted(), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_generator_is_saved_as_none_with_a_note():
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        content = as_bytes(Ranker(random_state=generator))
        assert load(io.BytesIO(content)).random_state is None
        note = f"Ranker.random_state was a {type(generator).__name__} and is saved as None."
        assert describe(io.BytesIO(content))["notes"] == [note]
    assert through(Ranker(random_state=7)).random_state == 7


def test_a_file_object_is_written_and_read_from_where_it_stands():
    file = io.BytesIO(b"before")
    file.seek(6)
    save(fitted(), file)
    file.seek(6)
    assert same(load(file), fitted())


# --- Describing ------------------------------------------------------------------------------------------------------


def test_a_description_is_plain_and_needs_neither_arrays_nor_classes(tmp_path, monkeypatch):
    ranker = fitted(loss=Weight(k=np.int64(5), base=(1, 2)), l2=np.float32(0.5), normalize=StandardScaler())
    ranker.matrix_ = sparse.csr_matrix((3, 4))
    ranker.counts_ = {("a", 1): b"x", "plain": np.dtype("f4")}
    save(ranker, tmp_path / "m")
    for table in ("BY_NAME", "HOMES"):
        monkeypatch.setattr(f"plackett.storage.models.registry.{table}", {})
    found = describe(tmp_path / "m")
    loss = {"class": f"{__name__}.Weight", "params": {"k": 5, "base": [1, 2]}, "state": {}}
    expected = {"loss": loss, "l2": 0.5, "normalize": "StandardScaler of scikit-learn", "random_state": None}
    assert found["params"] == expected
    assert found["class"] == NAME
    assert found["plackett"] == __version__
    assert found["version"] == 1
    assert found["bytes"] == (tmp_path / "m").stat().st_size
    assert found["state"]["coef_"] == "float64 array of shape (3,)"
    assert found["state"]["matrix_"] == "CSR matrix of shape (3, 4)"
    assert found["state"]["feature_names_in_"] == ["bm25", "länge", "tf·idf"]
    assert found["state"]["counts_"] == {"('a', 1)": "b'x'", "plain": "float32"}
    json.dumps(found["params"])


# --- The registry ----------------------------------------------------------------------------------------------------


def test_a_class_is_registered_under_its_room_and_name():
    assert registered("plackett.data.QueryMinMax") is QueryMinMax
    assert registered(NAME) is Ranker
    with pytest.raises(ValueError, match=r"'os\.system' is not a registered class"):
        registered("os.system")


def test_two_classes_cannot_share_a_name():
    other = type("QueryMinMax", (), {"__module__": "plackett.data.elsewhere"})
    with pytest.raises(
        ValueError, match=r"already registered for the class of that name in plackett\.data\.preprocessing"
    ):
        register(other)
    assert register(QueryMinMax) is QueryMinMax


# --- What cannot be saved --------------------------------------------------------------------------------------------

holds_itself: list = []
holds_itself.append(holds_itself)

REFUSED = {
    "a lambda": (lambda x: x, r"Ranker\.loss is a function or class \(<lambda>\), and a model file holds data, never"),
    "a lambda inside": (Weight(base=[len]), r"Ranker\.loss\.base\[0\] is a function or class \(len\)"),
    "a class": (Weight, r"Ranker\.loss is a function or class \(Weight\)"),
    "an unknown object": (object(), r"Ranker\.loss is a object, which cannot be saved\. Numbers, text"),
    "a set": ({1, 2}, r"Ranker\.loss is a set, which cannot be saved"),
    "a stranger": (
        Stranger(),
        r"Ranker\.loss is a Stranger, a class that is not registered; call plackett\.storage",
    ),
    "a column matrix": (sparse.csc_matrix((2, 2)), r"Ranker\.loss is sparse in the format CSC; .* use \.tocsr\(\)"),
    "objects of objects": (np.array([object()], dtype=object), r"Ranker\.loss\[0\] is a object"),
    "dates": (np.array(["2020-01-01"], dtype="M8[D]"), r"Ranker\.loss is an array of type datetime64\[D\]; only"),
    "a table of records": (np.zeros((2, 1), dtype=[("a", "f8")]), r"Ranker\.loss is an array of type .*; only numbers"),
    "records of objects": (np.zeros(2, dtype=[("a", "O")]), r"Ranker\.loss\['a'\] is an array of type object; only"),
    "masked": (np.ma.masked_array([1.0], [True]), r"Ranker\.loss is a MaskedArray, which cannot be saved"),
    "itself": (holds_itself, r"more than 64 deep, or itself"),
    "a transformer with code": (
        FunctionTransformer(lambda X: X),
        r"Ranker\.loss is a FunctionTransformer, which a model file cannot hold .*\. Transform the data",
    ),
    "a pipeline with ours": (
        make_pipeline(QueryMinMax()),
        r"Ranker\.loss is a Pipeline, which .* \(step 'queryminmax' of the Pipeline is not an estimator",
    ),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_file_cannot_hold_is_refused_by_name_and_the_old_file_stays(value, message, tmp_path):
    path = tmp_path / "m.plackett"
    save(fitted(), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        save(Ranker(loss=value), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.plackett"]


def test_a_learned_generator_is_refused():
    ranker = fitted()
    ranker.draws_ = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"Ranker\.draws_ is a Generator, .* Use an int seed"):
        as_bytes(ranker)


def test_an_estimator_of_an_unknown_class_is_refused():
    with pytest.raises(ValueError, match=r"Stranger is a Stranger, a class that is not registered"):
        as_bytes(Stranger())
    with pytest.raises(ValueError, match="MinMaxScaler, a class that is not registered"):
        as_bytes(MinMaxScaler())


def test_an_ending_that_promises_compression_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"models are not compressed; choose another extension, such as \.plackett"):
        save(fitted(), tmp_path / "m.gz")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"could not be saved \(No such file .*; there is no folder .*nowhere\)"
    ):
        save(fitted(), tmp_path / "nowhere" / "m.plackett")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"could not be saved \(.*there is no folder"):
        save(fitted(), tmp_path / "file" / "m.plackett")


def test_a_folder_without_permission_is_told_with_the_path_that_was_asked_for(tmp_path, monkeypatch):
    path = tmp_path / "m.plackett"

    def refuse(file, *args, **kwargs):
        raise PermissionError(13, "Permission denied", file)

    monkeypatch.setattr("plackett.storage.atomic.open", refuse, raising=False)
    with pytest.raises(PermissionError, match=r"could not be saved \(Permission denied\): '.*m\.plackett'"):
        save(fitted(), path)


def test_the_old_file_stays_whole_when_the_disk_fills_up(tmp_path, monkeypatch):
    path = tmp_path / "m.plackett"
    save(fitted(l2=1), path)

    def fill_up(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.raises(OSError, match=r"could not be saved \(No space left on device\)"):
        save(fitted(l2=2), path)
    assert load(path).l2 == 1
    assert os.listdir(tmp_path) == ["m.plackett"]


def test_saves_at_the_same_time_leave_one_whole_model(tmp_path):
    path = tmp_path / "m.plackett"
    errors = []

    def work(number):
        try:
            for _ in range(10):
                save(fitted(l2=number), path)
                assert load(path).l2 in range(4)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert os.listdir(tmp_path) == ["m.plackett"]


# --- Files that are not models ---------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return os.abort, ()


def forged(change, model=None):
    """A model with ``change(header, arrays)`` made to its header and its arrays by name."""
    directory, body = parts_of(as_bytes(fitted() if model is None else model))
    arrays = {name: array_in(directory, body, name) for name in directory["arrays"]}
    change(directory["header"], arrays)
    directory, body = directory | {"arrays": {}}, body[:64]
    for name, array in arrays.items():
        directory, body = with_array(directory, body, name, array)
    return signed(directory, body)


def with_header(change, model=None):
    return forged(lambda header, arrays: change(header), model)


def assert_refused(content, match):
    with pytest.raises(ModelFormatError, match=match):
        load(io.BytesIO(content))
    with contextlib.suppress(ModelFormatError):
        describe(io.BytesIO(content))


def contained(header, kind="plackett model"):
    file = io.BytesIO()
    ContainerWriter(file, kind, 1).finish(header)
    return file.getvalue()


NOT_MODELS = {
    "nothing": (b"", "this is not a plackett model: it is empty"),
    "text": (b"1 qid:1 1:0.5\n", "this is not a plackett model: it is another kind of file"),
    "a zip file": (b"PK\x03\x04" + bytes(99), "this is not a plackett model: it is another kind of file"),
    "a pickle": (pickle.dumps(Bomb()), "not a plackett model: it begins like a pickle. Nothing in it was run"),
    "a cache": (contained({}, "plackett cache"), "this is not a plackett model: it is a 'plackett cache'"),
    "an empty object": (contained({}), '"notes" must be of type list, found nothing'),
    "no class": (contained({"notes": []}), '"class" must be of type str, found nothing'),
}


@pytest.mark.parametrize(("content", "message"), NOT_MODELS.values(), ids=NOT_MODELS.keys())
def test_a_file_that_is_not_a_model_is_refused(content, message, tmp_path):
    assert_refused(content, message)
    path = tmp_path / "wrong.plackett"
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match=r"wrong\.plackett: "):
        load(path)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.plackett")


def test_the_error_says_which_file_and_can_be_sent_to_another_process():
    error = pickle.loads(pickle.dumps(ModelFormatError("m.plackett", "the file is damaged.")))
    assert (error.path, str(error)) == ("m.plackett", "m.plackett: the file is damaged.")


def test_another_version_of_the_format_is_told_with_the_versions():
    directory, body = parts_of(as_bytes(fitted()))
    assert_refused(
        signed(directory | {"version": 99, "plackett": "7.1"}, body),
        rf"version 99 of the format and was written by plackett '7\.1'; plackett {__version__} reads",
    )


# --- Damage ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound():
    model = fitted(loss=Weight(base=(1, 2.5)))
    model.matrix_ = sparse.csr_matrix(np.eye(3))
    return model, as_bytes(model)


def test_a_file_that_was_cut_off_anywhere_is_refused(sound, tmp_path):
    _, content = sound
    path = tmp_path / "cut.plackett"
    for length in [*range(8), *np.linspace(8, len(content) - 1, 60).astype(int)]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFormatError):
            load(path)


@pytest.mark.parametrize("from_disk", [True, False], ids=["from disk", "from memory"])
def test_a_flipped_byte_is_noticed_or_does_no_harm(from_disk, sound, tmp_path):
    model, content = sound
    path = tmp_path / "flipped.plackett"
    places = {*range(120), *range(0, len(content), 7), *range(len(content) - 200, len(content))}
    n_refused = 0
    for place in sorted(places):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(content)
            damaged[place] ^= flip
            if from_disk:
                path.write_bytes(damaged)
            try:
                back = load(path if from_disk else io.BytesIO(damaged))
            except ModelFormatError:
                n_refused += 1
            else:
                assert same(model, back)
    assert n_refused > len(places)


def test_flipped_bytes_with_valid_checksums_end_in_an_error_or_an_estimator(sound):
    _, content = sound
    directory, body = parts_of(content)
    text = json.dumps(directory).encode()
    random = np.random.default_rng(0)
    for _ in range(500):
        pieces = [bytearray(text), bytearray(body)]
        damaged = pieces[random.integers(2)]
        for place in random.integers(len(damaged), size=random.integers(1, 4)):
            damaged[place] = random.integers(256)
        for read in (load, describe):
            try:
                found = read(io.BytesIO(sealed(*map(bytes, pieces))))
            except ModelFormatError:
                continue
            assert isinstance(found, BaseEstimator if read is load else dict)


# --- Forgeries -------------------------------------------------------------------------------------------------------

COEF = {"type": "array", "name": "0"}


def put(name, node):
    return lambda document: document["state"].update({name: node})


def deep(depth):
    node: list = []
    for _ in range(depth):
        node = [node]
    return node


def measure(text):
    return {"type": "text", "class": "plackett.metrics.Measure", "value": text}


def csr(**parts):
    return lambda document: document["state"].update({"matrix_": {**document["state"]["matrix_"], **parts}})


DOCUMENTS = {
    "a function as class": (lambda d: d.update({"class": "os.system"}), r"'os\.system' is not a class that plackett"),
    "a class that is not ours": (lambda d: d.update({"class": "sklearn.svm.SVC"}), r"Nothing was run"),
    "no class": (lambda d: d.pop("class"), r'"class" must be of type str, found nothing'),
    "a number as class": (lambda d: d.update({"class": 7}), r'"class" must be of type str, found 7'),
    "no params": (lambda d: d.pop("params"), r'"params" must be of type dict'),
    "params as a list": (lambda d: d.update(params=[]), r'"params" must be of type dict'),
    "state as text": (lambda d: d.update(state="x"), r'"state" must be of type dict'),
    "a parameter too many": (lambda d: d["params"].update(power=3), r"Ranker has no parameter 'power' in plackett"),
    "self as a parameter": (lambda d: d["params"].update(self=3), r"has no parameter 'self'"),
    "notes of numbers": (lambda d: d.update(notes=[1]), "notes must be text"),
    "a dunder": (put("__class__", 1), r"'__class__' is not a learned attribute"),
    "a method": (put("fit", 1), r"'fit' is not a learned attribute"),
    "a private one": (put("_cache", 1), r"'_cache' is not a learned attribute"),
    "an unknown type": (put("x_", {"type": "pickle", "value": "gASV"}), r"x_ is of the unknown type 'pickle'"),
    "a type that is a list": (put("x_", {"type": []}), r"x_ is of the unknown type \[\]"),
    "an object without type": (put("x_", {}), r"x_ is of the unknown type None"),
    "deep lists": (put("x_", deep(200)), "more than 64 deep"),
    "a missing array": (put("x_", {"type": "array", "name": "77"}), "there is no array '77'"),
    "a path": (put("x_", {"type": "array", "name": "../../etc/passwd"}), "there is no array"),
    "an array twice": (put("x_", COEF), "uses the array '0', which is already used"),
    "an array as number": (put("x_", {"type": "array", "name": 0}), '"name" must be of type str'),
    "an array too many": (lambda d: d["state"].pop("coef_"), "it holds the array '0', which the model does not use"),
    "a float of words": (put("x_", {"type": "float", "value": "much"}), r"x_ is not valid"),
    "bytes of words": (put("x_", {"type": "bytes", "hex": "zz"}), r"x_ is not valid"),
    "pairs of three": (put("x_", {"type": "dict", "pairs": [[1, 2, 3]]}), r"x_ is not valid"),
    "pairs of none": (put("x_", {"type": "dict", "pairs": [7]}), r"x_ is not valid"),
    "a list as key": (put("x_", {"type": "dict", "pairs": [[[], 1]]}), r"x_ is not valid"),
    "objects of no shape": (put("x_", {"type": "objects", "shape": [9], "values": []}), r"0 values for an array"),
    "objects of odd shape": (put("x_", {"type": "objects", "shape": [-1], "values": []}), r"x_ is not valid"),
    "objects of huge shape": (put("x_", {"type": "objects", "shape": [0, 10**30], "values": []}), r"x_ is not valid"),
    "an object scalar": (put("x_", {"type": "numpy", "dtype": "|O", "value": "00" * 8}), r"x_ is not valid"),
    "a short scalar": (put("x_", {"type": "numpy", "dtype": "<f8", "value": "00"}), r"x_ is not valid"),
    "a wide type": (put("x_", {"type": "dtype", "value": "V99"}), r"x_ is not valid"),
    "a measure of nothing": (put("x_", measure("fame@10")), r"x_ is not valid"),
    "a measure as an object": (put("x_", measure("map") | {"type": "object", "params": {}, "state": {}}), "as text"),
    "a ranker as text": (put("x_", measure("map") | {"class": NAME}), r"x_ is not valid"),
    "a nested function": (
        put("x_", {"type": "object", "class": "builtins.eval", "params": {}, "state": {}}),
        r"x_: 'builtins\.eval' is not a class",
    ),
    "records without fields": (put("x_", {"type": "records", "fields": {}}), "x_ is not valid"),
    "records of missing arrays": (put("x_", {"type": "records", "fields": {"a": "77"}}), "there is no array '77'"),
    "records of a list": (put("x_", {"type": "records", "fields": ["0"]}), '"fields" must be of type dict'),
    "csr of two dimensions more": (csr(shape=[3, 3, 3, 3]), "matrix_ is not valid"),
    "csr too narrow": (csr(shape=[3, 2]), "matrix_ is not valid"),
    "csr too low": (csr(shape=[2, 3]), "matrix_ is not valid"),
    "csr of no kind": (csr(kind="dense"), "matrix_ is not valid"),
    "csr with swapped parts": (csr(indices="2", data="3"), "matrix_ is not valid"),
}


@pytest.mark.parametrize(("change", "message"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_forged_document_is_refused(change, message, sound):
    assert_refused(with_header(change, sound[0]), message)


@pytest.mark.parametrize("indices", [[0, 1, 99], [0, 1, -5]], ids=["beyond the end", "before the start"])
def test_a_sparse_matrix_that_points_outside_is_refused(indices, sound):
    def change(header, arrays):
        arrays[header["state"]["matrix_"]["indices"]] = np.array(indices, dtype=np.int32)

    assert_refused(forged(change, sound[0]), "matrix_ is not valid")


def test_an_array_that_is_missing_is_named():
    assert_refused(forged(lambda header, arrays: arrays.pop("0")), r"Ranker\.coef_ is missing: there is no array '0'")


# --- What a class checks itself --------------------------------------------------------------------------------------


def test_a_class_can_refuse_what_does_not_fit_together():
    model = Checked()
    model.coef_, model.n_features_in_ = np.zeros(3), 3
    assert through(model).n_features_in_ == 3
    model.n_features_in_ = 4
    assert_refused(as_bytes(model), r"Checked: 3 coefficients for 4 features\.")
