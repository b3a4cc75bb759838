"""The reference lists and describes the attributes of every class, and has an example of every class and function."""

import ast
import builtins
import doctest
import importlib.util
import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import plackett as pk
from plackett.rankers.boosting.feature_rank import BLFeatureRank

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the docs are not here")


SPACES = (pk, pk.metrics, pk.datasets, pk.preprocessing, pk.evaluation, pk.losses, pk.solvers, pk.text, pk.clicks)


def extension(name):
    """Return an extension of the docs."""
    spec = importlib.util.spec_from_file_location(f"{name}_of_docs", ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def docstrings():
    return extension("docstrings")


def listed_names():
    """Return the names of the reference."""
    if not (ROOT / "docs").is_dir():
        return []
    return [name for _, names in extension("reference").sections() for name in names]


def class_names():
    """Return the classes of the reference, without exceptions."""
    classes = {name: resolve_name(name) for name in listed_names() if inspect.isclass(resolve_name(name))}
    return [name for name, cls in classes.items() if not issubclass(cls, BaseException)]


def attributes_of(cls, docstrings):
    """Return the names in the section "Attributes" of a docstring."""
    entries = docstrings.attributes((inspect.getdoc(cls) or "").splitlines())[1]
    return [name for names, *_ in entries for name in names]


def test_the_names_that_a_type_checker_sees_are_the_public_ones():
    tree = ast.parse(Path(pk.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert alias.asname == alias.name  # without "as" the name is private for type checkers
                seen[alias.name] = node.module
    assert {*seen, "__version__"} == set(pk.__all__)
    for name, module in seen.items():
        assert getattr(pk, name) is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", class_names())
def test_every_attribute_is_written_under_its_own_name(name, docstrings):
    cls = resolve_name(name)
    lines = (inspect.getdoc(cls) or "").splitlines()
    names = attributes_of(cls, docstrings)
    assert all(re.fullmatch(r"\w+", name) for name in names), names
    docstrings.list_attributes(None, "class", cls.__name__, cls, None, lines)
    text = "\n".join(lines)
    assert [name for name in names if f"``{name}``" not in text] == []
    heading = text.partition("Attributes\n----------\n")[2].partition("\n\n\n")[0]
    listed = "\n".join(line for line in heading.splitlines() if line.startswith("* "))
    assert not re.search(r"\w_(?![\w`])", re.sub(r"\\_", "", listed)), "a reference in reStructuredText"


@pytest.mark.parametrize("name", [name for name in listed_names() if inspect.isclass(resolve_name(name))])
def test_every_attribute_is_described_once(name, docstrings):
    cls = resolve_name(name)
    entries = docstrings.described(cls)  # raises where "as in" names attributes that the other class does not have
    undescribed = [names for names, _, text in entries if not any(line.strip() for line in text)]
    assert undescribed == [], "add a line on what they hold"
    names = [name for names, *_ in entries for name in names]
    assert len(names) == len(set(names))
    members = [] if issubclass(cls, BaseException) else extension("reference").members(cls)
    assert set(names) & set(members) == set(), "the docstrings of these properties describe them already"


def test_attributes_as_in_another_class_have_its_descriptions(docstrings):
    described = {name: text for names, _, text in docstrings.described(BLFeatureRank) for name in names}
    assert described["history_"][0].strip().startswith('For every step: ``"E"``')  # of FeatureRank
    assert described["n_iter_"][0].strip() == "Steps taken."  # of DiffRank
    with pytest.raises(ValueError, match="best_score_ are not whole entries of DiffRank"):
        docstrings.described(pk.FeatureRank, [(["best_score_"], "as in ``DiffRank``", [])])


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(6, 8, 4, random_state=0)


SETTINGS = {  # several fits if an attribute depends on a parameter
    "LinearRanker": [{"max_iter": 500}, {"loss": "hinge"}],
    "KernelRanker": [{}, {"loss": "hinge"}],
    "AdaRank": [{"n_rounds": 3}],
    "RankBoost": [{"n_rounds": 3}],
    "PRank": [{"n_epochs": 2}],
    "QueryDependentRanker": [{"n_neighbors": 2}],
    "NeuralRanker": [{"hidden": (2,), "n_epochs": 2}],
    **{name: [{"n_rounds": 2}] for name in ("TreeRanker", "XGBoostRanker")},
    **{name: [{}] for name in ("DiffRank", "FeatureRank", "BLFeatureRank", "SVMMap")},
    **{name: [{}] for name in ("MultiplicativeRefiner", "LinearRefiner", "RocchioRefiner", "PersonalityDiagnosis")},
    **{name: [{}] for name in ("QueryMinMax", "QueryZScore", "QueryUnitLength", "QueryRank")},
    **{name: [{}] for name in ("MissingValues", "OneHotCategories", "TargetCategories")},
}
NEEDED = {"NeuralRanker": "torch", "XGBoostRanker": "xgboost", "TreeRanker": "lightgbm"}


def learned(cls, setting, lists):
    """Return the public attributes of a fitted estimator that end in an underscore."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(lists.X, columns=[f"f{column}" for column in range(lists.n_features)])
    estimator = cls(**setting)
    if cls is pk.PersonalityDiagnosis:
        estimator.fit({"a": {1: 2.0, 2: 3.0}, "b": {1: 3.0, 2: 2.0}})
    elif cls.__name__.endswith("Refiner"):
        estimator.fit(frame, (lists.y > 0).astype(float), qid=lists.qid, base_score=0)
    else:
        estimator.fit(frame, lists.y, qid=lists.qid)
    names = [name for name in vars(estimator) if name.endswith("_")]
    names += [name for name in dir(cls) if name.endswith("_") and hasattr(getattr(cls, name), "__get__")]
    return {name for name in names if not name.startswith("_")}


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_the_reference_lists_what_a_fit_leaves_and_nothing_else(name, docstrings, lists):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    cls = getattr(pk, name, None) or getattr(pk.preprocessing, name)
    found = set().union(*(learned(cls, setting, lists) for setting in SETTINGS[name]))
    shown = [resolve_name(one) for one in class_names()]
    listed = next(filter(None, (attributes_of(base, docstrings) for base in cls.__mro__ if base in shown)))
    members = {name for name in extension("reference").members(cls) if name.endswith("_")}
    assert {*listed, *members} == found


def test_every_estimator_of_the_reference_is_compared():
    classes = [cls for cls in map(resolve_name, class_names()) if not issubclass(cls, pk.clicks.ClickModel)]
    estimators = {cls.__name__ for cls in classes if hasattr(cls, "fit")}
    assert estimators - {"QueryNormalizer", "CategoryEncoder", "ImportedTrees", "ImportedLinear"} == set(SETTINGS)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", ["gctr", "rctr", "dctr", "pbm", "cm", "dcm", "ccm", "dbn", "sdbn", "ubm"])
def test_the_reference_lists_what_a_fit_of_a_click_model_leaves(name, docstrings):
    log = pk.clicks.ClickLog.from_arrays(["a", "b"], list("wxyz"), [1, 0, 1, 1], indptr=[0, 2, 4])
    model = pk.clicks.get_click_model(name).fit(log)
    documented = {*attributes_of(pk.clicks.ClickModel, docstrings), *attributes_of(type(model), docstrings)}
    assert documented == {name for name in vars(model) if name.endswith("_")}


UNLISTED = {"AbsentLoss"}  # stands for a loss that a model file cannot hold


def test_every_public_class_and_function_has_a_page():
    listed = {id(resolve_name(name)) for name in listed_names()}
    for space in SPACES:
        for name in set(space.__all__) - UNLISTED:
            value = getattr(space, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert id(value) in listed, f"docs/api.md does not list {space.__name__}.{name}"


def test_a_page_has_source_members_and_formula():
    reference = extension("reference")
    assert "__getitem__" in reference.members(pk.Queries)
    assert "set_fit_request" not in reference.members(pk.LinearRanker)  # of scikit-learn
    assert {"fit", "rank", "explain", "save", "l2_path"} <= set(reference.members(pk.LinearRanker))
    formulas = reference.formulas()
    assert formulas["plackett.losses.ListMLE"].startswith("$")
    assert ":math:`" in reference.page("plackett.metrics.dcg", "plackett.metrics", [], formulas["plackett.metrics.dcg"])


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("Σ_i [−f_i + log Σ_{j ≥ i} exp f_j]", r"\sum _{i} [-f_{i} + \log  \sum _{j \ge  i} \exp \ f_{j}]"),
        ("½ ‖coef‖²", r"\frac{1}{2}  \Vert \mathrm{coef}\Vert ^2"),
        ("α_jt + learning_rate · x", r"α_{jt} + \mathrm{learning\_rate} \cdot  x"),
    ],
)
def test_formulas_of_docstrings_become_latex(text, latex):
    assert extension("formulas").as_latex(text) == latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("log(1 + e^(-sigma m))", r"\log (1 + e^{-\sigma  m})"),
        ("2**y_j − 1", "2^{y_{j}} - 1"),
        ("(2^y - 1) / 2^y_max", r"(2^{y} - 1) / 2^{y_{\mathrm{max}}}"),
        ("Σ α [x_feature > t]", r"\sum  α [x_{\mathrm{feature}} \gt  t]"),
        ("10 / sqrt(n_sessions)", r"10 / \sqrt{n_{\mathrm{sessions}}}"),
        ("|G_i| |D(r_i)|", r"\vert G_{i}\vert \,\vert D(r_{i})\vert"),
        ("tf (k1 + 1)", r"\mathrm{tf}\ (\mathrm{k1} + 1)"),
        ("a_r R\u0302", r"a_{r} \hat{R}"),
    ],
)
def test_powers_subscripts_and_roots_become_latex(text, latex):
    assert extension("formulas").as_latex(text) == latex


def test_formulas_are_told_from_code():
    is_formula = extension("formulas").is_formula
    formulas = ["s_q", "2**label - 1", "log2(1 + S) / S", "(r - 1) / (n - 1)", "|r|", "1 / l2", "x ~ N(0, I)"]
    formulas += ["alpha = 2 beta", "y_max", "p(x | missing) = 1 / #ratings", "f(x, x')"]
    code = ["X @ coef_", "k=None", "indptr[q]:indptr[q + 1]", "n_docs", "Analyser(**params)", "item|title|year|"]
    code += ["(0, 0)", "trec_eval -c", "day-*.csv", "objective_ / C", "1 / (n * X.var())", '"ndcg-loss2++"']
    code += ["docid = NAME", "fit(X, y)"]
    assert [text for text in formulas if not is_formula(text)] == []
    assert [text for text in code if is_formula(text)] == []


def test_literals_are_paired_from_the_start_of_a_paragraph():
    with_formulas = extension("formulas").with_formulas
    # from a closing to an opening pair of backticks there is Σ, which is no literal
    text = '``"alpha"``, ``"edge"`` (Σ P E of the feature), ``"train"`` and'
    assert with_formulas([text]) == [text]
    assert with_formulas(["weights ``w_i =", "Σ_j γ_ij``, ``k`` and s_q."]) == [
        r"weights :math:`w_{i} = \sum _{j} γ_{ij}`, ``k`` and :math:`s_{q}`."
    ]
    kept = ["An odd `` here", "", ">>> ``Σ x``", "``Σ x``", "", "=====  ==", "η      s_q", "=====  =="]
    assert with_formulas(kept) == kept
    assert with_formulas(["", "    ``a_i = 1``, a", "    ``b_i = 2``, b"]) == [
        "", "    :math:`a_{i} = 1`, a", "", "    :math:`b_{i} = 2`, b"
    ]  # fmt: skip


@pytest.mark.parametrize("name", listed_names())
def test_no_docstring_has_a_formula_that_is_cut(name):
    subject, with_formulas = resolve_name(name), extension("formulas").with_formulas
    lines = with_formulas((inspect.getdoc(subject) or "").splitlines())
    for formula in re.findall(r":math:`([^`]*)`", "\n".join(lines)):
        depth = [formula.count(sign) for sign in "(){}[]"]
        assert depth[::2] == depth[1::2], formula
        assert "``" not in formula


def test_keys_of_citations_are_found_in_text():
    citations = extension("citations")
    titles = citations.references()
    assert titles["burges2006"] == "Learning to Rank with Nonsmooth Cost Functions"
    parts = list(citations.split_at_keys("LambdaRank (burges2006), not agarwal2019b but agarwal2019a.", titles))
    assert [part for part, is_key in parts if is_key] == ["burges2006", "agarwal2019a"]
    assert "".join(part for part, _ in parts).startswith("LambdaRank (burges2006), not")


def test_every_key_in_a_docstring_is_in_the_references():
    titles = extension("citations").references()
    for name in listed_names():
        keys = re.findall(r"[(`;, ]([a-z]+(?:19|20)\d\d[a-z]?)[)`;,]", inspect.getdoc(resolve_name(name)) or "")
        assert [key for key in keys if key not in titles and not key.startswith(("mq", "td", "hp", "np"))] == [], name


def public_functions():
    for space in SPACES:
        for name in space.__all__:
            if inspect.isfunction(getattr(space, name)):
                yield pytest.param(getattr(space, name), id=f"{space.__name__}.{name}")


@pytest.mark.parametrize("function", list(public_functions()))
def test_every_public_function_documents_parameters_an_example_and_what_it_returns(function):
    doc, signature = inspect.getdoc(function) or "", inspect.signature(function)
    sections = ["Examples"]
    if signature.parameters and "Parameters as in" not in doc:
        sections.append("Parameters")
    if signature.return_annotation in (inspect.Signature.empty, "Any"):  # other annotations say what comes back
        sections.append("Returns")
    assert [section for section in sections if f"{section}\n{'-' * len(section)}\n" not in doc] == []


@pytest.mark.parametrize("name", listed_names())
def test_every_page_has_an_example(name):
    subject = resolve_name(name)
    if inspect.isclass(subject) and issubclass(subject, BaseException):
        pytest.skip("an exception or a warning")
    assert "\n>>> " in inspect.getdoc(subject).partition("\nExamples\n--------\n")[2]


def undefined_names(text, known):
    """Return the names that examples use before they define or import them; add those that they define to ``known``."""
    found = []
    for example in doctest.DocTestParser().get_examples(text):
        try:
            nodes = list(ast.walk(ast.parse(example.source)))
        except SyntaxError:  # an example of an error
            continue
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                    known.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    known.add(name)
                case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                    known.update((alias.asname or alias.name).partition(".")[0] for alias in aliases)
        used = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        found += [name for name in used if name not in known and not hasattr(builtins, name)]
    return found


def test_the_check_of_examples_finds_names_that_are_not_imported():
    text = """
    >>> import numpy as np
    >>> total = sum(one for one in np.ones(3))
    >>> def double(x):
    ...     return 2 * x
    >>> ndcg(double(total), other)
    """
    assert undefined_names(text, {"other"}) == ["ndcg"]


@pytest.mark.parametrize("name", listed_names())
def test_examples_of_a_page_can_be_pasted_into_a_new_session(name):
    subject, known = resolve_name(name), set()
    pages = [subject]
    if inspect.isclass(subject) and not issubclass(subject, BaseException):
        pages += [inspect.getattr_static(subject, member) for member in extension("reference").members(subject)]
    for one in pages:
        assert undefined_names(inspect.getdoc(one) or "", known) == [], one
