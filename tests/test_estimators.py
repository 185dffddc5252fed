"""The scikit-learn classifiers: scikit-learn's own checks, the solvers' numbers, and peers."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from pytest import approx
from random_problems import extend, optimum
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from pdmbench.bench.measure import measure, prepare
from pdmbench.bench.plan import Cell
from pdmbench.estimators import (
    MPUClassifier,
    PDMClassifier,
    PerceptronMarginClassifier,
    PFMClassifier,
    ROMMAClassifier,
)

CLASSIFIERS = {
    "pdm": PDMClassifier(),
    "pdm-succ": PDMClassifier(schedule="successive"),
    "pfm": PFMClassifier(),
    "romma": ROMMAClassifier(),
    "mpu": MPUClassifier(),
    "perceptron-margin": PerceptronMarginClassifier(),
}
ONLINE = {
    "pdm": PDMClassifier(),
    "pfm": PFMClassifier(beta=0.05),
    "romma": ROMMAClassifier(),
    "perceptron-margin": PerceptronMarginClassifier(),
}
ROUNDING = 1e-9


@pytest.fixture(params=CLASSIFIERS)
def name(request) -> str:
    return request.param


def classifier(name: str, **parameters):
    return clone(CLASSIFIERS[name]).set_params(**parameters)


def two_classes(seed: int = 0, m: int = 60, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes in multiples of 1/8."""
    random = np.random.default_rng(seed)
    x = np.round(8 * random.normal(size=(m, n))) / 8
    return x, np.where(x @ random.normal(size=n) + random.normal(size=m) > 0, "yes", "no")


def three_classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, 90)
    return np.eye(3)[y] + 0.6 * random.normal(size=(90, 3)), y


def test_scikit_learns_checks(name):
    """No expected failures."""
    results = check_estimator(CLASSIFIERS[name], on_skip=None)
    assert len(results) > 40
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}  # needs SCIPY_ARRAY_API


class TestTheSolversNumbers:
    @staticmethod
    def check(name: str, dataset: str, x, y) -> None:
        cell = Cell(dataset=dataset, algorithm=name, eps=0.05, seed=3)
        prepared = prepare(cell, report=lambda line: None)
        parameters = {"tol": 0.05, "random_state": 3, "delta": prepared.problem.delta}
        beta = None
        if name == "pfm":
            beta = parameters["beta"] = float(measure(Cell(
                dataset=dataset, algorithm="pdm", eps=0.05, seed=3), prepared, None).margin)  # fmt: skip
        record = measure(cell, prepared, beta)
        fitted = classifier(name, **parameters).fit(x, y)
        assert record.status == "converged"
        assert (fitted.margin_, fitted.margin_bound_) == (record.margin, record.bound)
        assert fitted.certified_accuracy_ == record.certified_accuracy
        assert (fitted.n_updates_, fitted.n_iter_) == (record.updates, record.full_epochs)
        by_hand = np.sign(x @ fitted.coef_[0] + fitted.intercept_[0])
        assert np.array_equal(fitted.predict(x), fitted.classes_[(by_hand > 0).astype(int)])

    def test_breast_cancer(self, name, cache):
        x, y = load_breast_cancer(return_X_y=True)
        self.check(name, "breast-cancer", 0.001 * x, y)

    def test_digits(self, name, cache):
        x, digit = load_digits(return_X_y=True)
        self.check(name, "digits", x / 16.0, digit % 2 == 0)

    def test_adult(self, name, cache, shared, monkeypatch):
        monkeypatch.setenv("PDMBENCH_MIRROR", str(shared / "mirror"))
        self.check(name, "adult", *load_svmlight_file(shared / "mirror" / "adult" / "a9a"))


@pytest.fixture(scope="module", params=["adult/a9a", "web/w8a"])
def split(request, shared):
    x, y = load_svmlight_file(shared / "mirror" / request.param)
    parts = train_test_split(x, y, test_size=0.2, random_state=0)
    peer = LinearSVC(C=0.5, random_state=0).fit(parts[0], parts[2])  # C = 1/(2Δ²), Δ = 1
    return parts, peer


def test_accuracy_on_held_out_patterns_is_that_of_linear_svc(name, split):
    (x, held_out, y, truth), peer = split
    fitted = classifier(name, delta=1.0, random_state=0).fit(x, y)
    assert abs(fitted.score(held_out, truth) - peer.score(held_out, truth)) <= 0.01


class TestAttributes:
    def test_the_optimum(self, name):
        """γ_d by non-negative least squares."""
        x, y = two_classes()
        fitted = classifier(name, delta=0.5, rho=2.0, random_state=1).fit(x, y)
        lower, upper = optimum(extend(x, np.where(y == "yes", 1.0, -1.0), 0.5, 2.0))
        reached = 0.5 / 1.01 if name == "perceptron-margin" else 0.99 * (0.99 if name == "pfm" else 1)
        assert reached * lower * (1 - ROUNDING) <= fitted.margin_ <= upper * (1 + ROUNDING)
        assert fitted.margin_bound_ >= lower * (1 - ROUNDING)
        assert fitted.certified_accuracy_ == 1 - fitted.margin_ / fitted.margin_bound_

    @pytest.mark.parametrize("problem", [two_classes, three_classes])
    def test_weights_are_the_sum_of_the_patterns(self, name, problem):
        x, y = problem()
        fitted = classifier(name, rho=2.0).fit(x, y)
        labels = np.where(y == fitted.classes_[-1], 1.0, -1.0)
        assert np.all(fitted.dual_coef_[-1] * labels >= 0)  # l_k I_k
        assert np.allclose(fitted.dual_coef_ @ x, fitted.coef_, rtol=0, atol=1e-9)
        assert np.allclose(4.0 * fitted.dual_coef_.sum(axis=1), fitted.intercept_, rtol=0, atol=1e-9)

    def test_scale(self, name):
        """min_k w·y_k is 1 at the optimum: at most 1 here, and 1 − ε where the accuracy is certified."""
        x, y = two_classes()
        fitted = classifier(name, delta=0.5).fit(x, y)
        labels = np.where(y == "yes", 1.0, -1.0)
        smallest = (labels * fitted.decision_function(x) + 0.25 * np.abs(fitted.dual_coef_[0])).min()
        assert smallest == approx(1 - fitted.certified_accuracy_, rel=1e-9)

    def test_one_against_the_rest(self, name):
        x, y = three_classes()
        fitted = classifier(name, random_state=2).fit(x, y)
        assert fitted.coef_.shape == (3, 3)
        assert fitted.intercept_.shape == fitted.margin_.shape == fitted.n_updates_.shape == (3,)
        for row in range(3):
            binary = classifier(name, random_state=2).fit(x, y == row)
            assert fitted.margin_[row] == binary.margin_
            assert fitted.n_iter_[row] == binary.n_iter_
            assert np.array_equal(fitted.coef_[row], binary.coef_[0])
        scores = x @ fitted.coef_.T + fitted.intercept_
        assert np.allclose(fitted.decision_function(x), scores, rtol=1e-12)
        assert np.array_equal(fitted.predict(x), scores.argmax(axis=1))
        assert fitted.score(x, y) > 0.7

    def test_sparse_and_dense_input(self, name):
        x, y = two_classes()
        dense = classifier(name, random_state=0).fit(x, y)
        untidy = scipy.sparse.coo_array(x).tocsc()
        for matrix in (scipy.sparse.csr_array(x), scipy.sparse.csr_matrix(x), untidy):
            sparse = classifier(name, random_state=0).fit(matrix, y)
            assert sparse.margin_ == dense.margin_
            assert np.array_equal(sparse.predict(matrix), dense.predict(x))

    def test_untidy_sparse_input(self, name):
        """Duplicates are summed, explicit zeros dropped; the caller's matrix stays as it is."""
        x = scipy.sparse.csr_array(([1.0, 2.0, 0.0, -1.0, -1.0], [1, 1, 0, 1, 0], [0, 3, 5]), shape=(2, 2))
        before = x.data.copy()
        fitted = classifier(name, random_state=0).fit(x, [1, 0])
        assert fitted.margin_ == classifier(name, random_state=0).fit([[0, 3], [-1, -1]], [1, 0]).margin_
        assert np.array_equal(x.data, before)

    def test_the_seed(self, name):
        x, y = two_classes()
        one, same = (classifier(name, random_state=7).fit(x, y) for _ in range(2))
        assert np.array_equal(one.dual_coef_, same.dual_coef_)
        other = classifier(name, random_state=8).fit(x, y)
        assert not np.array_equal(one.dual_coef_, other.dual_coef_)
        classifier(name, random_state=np.random.RandomState(1)).fit(x, y)

    def test_delta(self, name):
        """A tenth of R, to one digit."""
        x, y = two_classes()
        radius = np.sqrt((x**2).sum(axis=1).max() + 1.0)
        assert classifier(name).fit(x, y).delta_ == float(f"{radius / 10:.0e}")
        assert classifier(name, delta=0.7).fit(x, y).delta_ == 0.7


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"delta": -1.0}, "delta"), ({"delta": "none"}, "delta"), ({"rho": 0.0}, "rho"),
        ({"tol": 1.0}, "tol"), ({"max_iter": 0}, "max_iter"), ({"warm_start": "yes"}, "warm_start"),
        ({"random_state": -1}, "random_state"),
    ],
)  # fmt: skip
def test_parameters_are_validated(name, parameters, named):
    with pytest.raises(ValueError, match=f"The '{named}' parameter of"):
        classifier(name, **parameters).fit(*two_classes())


@pytest.mark.parametrize(
    ("estimator", "named"),
    [
        (PDMClassifier(schedule="fast"), "schedule"), (PDMClassifier(eta=1.0), "eta"),
        (PFMClassifier(beta=0.0), "beta"), (PerceptronMarginClassifier(b=-1.0), "b"),
    ],
)  # fmt: skip
def test_own_parameters_are_validated(estimator, named):
    with pytest.raises(ValueError, match=f"The '{named}' parameter of"):
        estimator.fit(*two_classes())


class TestLimits:
    def test_max_iter(self, name):
        x, y = two_classes()
        target = {"beta": 0.99 * optimum(extend(x, np.where(y == "yes", 1.0, -1.0), 0.1))[0]}
        parameters = {"delta": 0.1, "max_iter": 2, "tol": 0.001} | (target if name == "pfm" else {})
        with pytest.warns(ConvergenceWarning, match="max_iter=2") as caught:
            fitted = classifier(name, **parameters).fit(x, y)
        assert caught[-1].filename == __file__
        assert fitted.n_iter_ == 2

    def test_a_target_out_of_reach(self):
        with pytest.warns(ConvergenceWarning, match=r"β = 100 is out of reach: γ_d ≤ .* is proven"):
            PFMClassifier(beta=100.0).fit(*two_classes())

    def test_no_margin_to_aim_at(self):
        with (
            pytest.warns(ConvergenceWarning, match="max_iter"),
            pytest.raises(ValueError, match="PDM separated nothing in 10 epochs"),
        ):
            PFMClassifier(delta=0.0, max_iter=10).fit(*two_classes())


class TestWarmStart:
    def test_goes_on(self, name):
        """From a coarse solution to a fine one; less is left to do than from 0."""
        x, y = two_classes(3, m=200)
        warm = classifier(name, delta=0.5, tol=0.2, warm_start=True, random_state=0).fit(x, y)
        before = warm.n_updates_
        warm.set_params(tol=0.01).fit(x, y)
        cold = classifier(name, delta=0.5, tol=0.01, random_state=0).fit(x, y)
        again = clone(warm).fit(x, y)
        lower, upper = optimum(extend(x, np.where(y == "yes", 1.0, -1.0), 0.5))
        promised = 0.5 / 1.01 if name == "perceptron-margin" else 0.98
        assert promised * lower <= warm.margin_ <= upper * (1 + ROUNDING)
        assert before > 0
        assert again.margin_ == cold.margin_
        assert not np.array_equal(warm.dual_coef_, cold.dual_coef_)
        before = warm.margin_
        warm.fit(x, y)
        assert warm.n_iter_ <= 3  # a full epoch for each accuracy
        if name != "mpu":  # which stops before it has nothing left to do
            assert warm.n_updates_ == 0
            assert warm.margin_ == approx(before, rel=1e-9)

    def test_other_data(self, name):
        x, y = two_classes()
        warm = classifier(name, warm_start=True).fit(x, y)
        with pytest.raises(ValueError, match="warm_start goes on from 60 patterns"):
            warm.fit(x[:50], y[:50])
        with pytest.raises(ValueError, match="warm_start goes on from 60 patterns of the classes"):
            warm.fit(x, y == "yes")
        x, y = two_classes(1)
        assert warm.fit(x, y).score(x, y) > 0.7  # as many, other patterns: the same I_k begin


class TestPartialFit:
    @pytest.mark.parametrize("name", ONLINE)
    def test_bound_and_weights_over_all_patterns_ever_presented(self, name):
        """Against the explicit sum Σ I_k y_k over three batches, each with extra dimensions of its own."""
        x, y = two_classes(2, m=90)
        labels = np.where(y == "yes", 1.0, -1.0)
        extended = extend(x, labels, 0.5)
        gamma = optimum(extended)[0]
        online = clone(ONLINE[name]).set_params(delta=0.5, random_state=0)
        a = np.zeros(extended.shape[1])
        for batch in np.split(np.arange(90), 3):
            online.partial_fit(x[batch], y[batch], classes=["no", "yes"])
            new = extended[batch].T @ np.abs(online.dual_coef_[0])
            # The former part of a, whatever it has been scaled by: what the visible components say.
            former = online.coef_[0] - new[:4]
            a = a * (former @ a[:4]) / (a[:4] @ a[:4]) + new if a.any() else new
            assert np.allclose(a[:5], [*online.coef_[0], online.intercept_[0]], rtol=0, atol=1e-9)
            assert online.margin_bound_ == approx(1 / np.linalg.norm(a), rel=1e-9)  # scaled: ‖a‖²=Σ I_k
            assert online.margin_ == approx((extended[batch] @ a).min() / np.linalg.norm(a), rel=1e-9)
            assert online.margin_bound_ >= gamma
            assert np.isnan(online.certified_accuracy_)
        assert online.n_iter_ == 3

    @pytest.mark.parametrize("name", ONLINE)
    def test_converges_where_patterns_come_again(self, name):
        """Without extra dimensions (Δ = 0) the theorems hold for passes of ``partial_fit``."""
        random = np.random.default_rng(4)
        x = random.normal(size=(40, 3))
        x += 0.3 * np.sign(x[:, :1])
        labels = np.sign(x[:, 0])
        gamma = optimum(extend(x, labels, 0.0))[0]
        online = clone(ONLINE[name]).set_params(delta=0.0, tol=0.1)
        if name == "pfm":
            online.set_params(beta=0.9 * gamma)
        before = -1
        while not hasattr(online, "n_updates_") or online.n_updates_ > before:
            before = getattr(online, "n_updates_", before)
            online.partial_fit(x, labels, classes=[-1, 1])
        promised = 1 / 2.2 if name == "perceptron-margin" else 0.9
        assert promised * gamma * (1 - ROUNDING) <= online.margin_ <= online.margin_bound_ * (1 + ROUNDING)
        assert gamma * (1 - ROUNDING) <= online.margin_bound_
        assert online.score(x, labels) == 1.0

    @pytest.mark.parametrize("name", ONLINE)
    def test_one_against_the_rest(self, name):
        x, y = three_classes()
        online = clone(ONLINE[name]).set_params(random_state=2)
        online.partial_fit(x, y, classes=[0, 1, 2])
        for row in range(3):
            binary = clone(ONLINE[name]).set_params(random_state=2)
            binary.partial_fit(x, y == row, classes=[False, True])
            assert online.margin_[row] == binary.margin_
            assert np.array_equal(online.coef_[row], binary.coef_[0])

    @pytest.mark.parametrize("name", ONLINE)
    def test_goes_on_from_fit(self, name):
        x, y = two_classes()
        online = clone(ONLINE[name]).fit(x, y)
        before = online.n_updates_, online.n_iter_
        online.partial_fit(x[:1], y[:1])
        assert online.n_iter_ == before[1] + 1
        assert online.n_updates_ >= before[0]
        assert online.dual_coef_.shape == (1, 1)
        assert online.score(x, y) > 0.7

    def test_only_where_the_algorithm_is_online(self):
        assert not hasattr(MPUClassifier(), "partial_fit")
        assert not hasattr(PDMClassifier(schedule="successive"), "partial_fit")
        assert not hasattr(PFMClassifier(), "partial_fit")

    def test_classes(self):
        x, y = two_classes()
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            PDMClassifier().partial_fit(x, y)
        with pytest.raises(ValueError, match="1 class"):
            PDMClassifier().partial_fit(x, y, classes=["yes"])
        online = PDMClassifier()
        with pytest.raises(ValueError, match="'yes'"):
            online.partial_fit(x, y, classes=["maybe", "no"])
        only_no = y == "no"
        PDMClassifier().partial_fit(x[only_no], y[only_no], classes=["no", "yes"])


class TestScikitLearnsTools:
    def test_grid_search_in_a_pipeline(self, name):
        x, y = load_breast_cancer(return_X_y=True, as_frame=True)
        last = classifier(name, max_iter=10_000, random_state=0)
        steps = make_pipeline(StandardScaler(), last).set_output(transform="pandas")
        grid = {f"{steps.steps[-1][0]}__delta": [0.5, 2.0]}
        search = GridSearchCV(steps, grid, cv=3).fit(x, y)
        assert search.best_score_ > 0.95
        assert list(search.best_estimator_[-1].feature_names_in_) == list(x.columns)

    def test_pickle_and_clone(self, name):
        x, y = two_classes()
        fitted = classifier(name).fit(x, y)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.decision_function(x), fitted.decision_function(x))
        assert not hasattr(clone(fitted), "coef_")
        assert clone(fitted).get_params() == fitted.get_params()

    def test_texts(self, name):
        texts = [
            f"{verb} {what}" for verb in ("buy", "sell", "hold") for what in ("wheat", "corn", "gold now")
        ]
        answers = [text.startswith("buy") for text in texts]
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            pipeline = make_pipeline(TfidfVectorizer(), classifier(name)).fit(texts, answers)
        assert scipy.sparse.issparse(pipeline[0].transform(texts))
        assert pipeline.score(texts, answers) == 1.0
        assert pipeline.predict(["buy silver", "sell silver"]).tolist() == [True, False]
