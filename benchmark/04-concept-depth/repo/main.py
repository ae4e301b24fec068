"""Probe the layers of a model for one concept: `python main.py cities`."""

import argparse
from collections.abc import Sequence

import numpy as np
from dataset import CONCEPTS, DataProcessing
from metrics import Depth, concept_depth
from plot import draw_curve
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from utils import LLM

Scores = tuple[list[float], list[float], list[float]]

#: Share of the rows that are held out.
TEST_SHARE = 0.4
#: Seed of scikit-learn's split.
SPLIT_SEED = 42


def split_rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on, and of those to test on, out of `count` rows that are numbered from 0."""
    train, test = train_test_split(np.arange(count), test_size=TEST_SHARE, random_state=SPLIT_SEED)
    return train, test


def fit_probe(states: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fit the probe of one layer.

    Args:
        states: (n, d) float64.
        labels: (n,) integers, 0 or 1; both occur.

    Returns:
        theta of the paper, (d + 1,) float64, with theta_0 last.
    """
    classifier = LogisticRegression().fit(X=states, y=labels)
    return np.append(classifier.coef_[0], classifier.intercept_)


def probabilities(theta: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Probability of label 1 for each row, (n,) float64, from theta (d + 1,) with theta_0 last and states (n, d)."""
    return expit(states @ theta[:-1] + theta[-1])


def score_probe(labels: np.ndarray, predicted: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, F1 and ROC AUC.

    Args:
        labels: (n,) integers, 0 or 1.
        predicted: (n,) probabilities of label 1.
    """
    decisions = (predicted > 0.5).astype(labels.dtype)
    accuracy = accuracy_score(y_true=labels, y_pred=decisions)
    f1 = f1_score(y_true=labels, y_pred=decisions)
    return accuracy, f1, roc_auc_score(y_true=labels, y_score=predicted)


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    """Train a linear classifier on the hidden states of each layer, and score it on rows that it has not seen.

    n1 and n2 are the numbers of texts in the two groups; d is the width of a layer.

    Args:
        rp_log_data_list: hidden states of the first group of texts, one (n1, d) float64 array a layer.
        rp_question_data_list: hidden states of the second group, one (n2, d) float64 array a layer.
        labels_log: (n1,) integer labels, 0 or 1, of the first group; the same for all layers.
        labels_question: (n2,) integer labels, 0 or 1, of the second group.
        tot_layer: how many layers to probe, counted from the first.

    Returns:
        Accuracy, F1 and ROC AUC: three lists of `tot_layer` floats each, in the order of the layers.
    """
    labels = np.concatenate([labels_log, labels_question])
    train, test = split_rows(len(labels))
    accuracies: list[float] = []
    f1_scores: list[float] = []
    aucs: list[float] = []
    for layer in range(tot_layer):
        states = np.concatenate([rp_log_data_list[layer], rp_question_data_list[layer]])
        theta = fit_probe(states[train], labels[train])
        accuracy, f1, auc = score_probe(labels[test], probabilities(theta, states[test]))
        accuracies.append(accuracy)
        f1_scores.append(f1)
        aucs.append(auc)
    return accuracies, f1_scores, aucs


def probe_concept(llm: LLM, data: DataProcessing) -> Scores:
    """Scores of every layer of a model on one data set: the first group has label 1, the second label 0."""
    positive, negative = data.dispose_data()
    ones, zeros = np.ones(len(positive), dtype=np.int64), np.zeros(len(negative), dtype=np.int64)
    return probing(llm.collect(positive), llm.collect(negative), ones, zeros, llm.total_layers)


def teach_model(seed: int = 0) -> LLM:
    """A model that has been taught all bundled data sets."""
    lessons = [lesson for name in CONCEPTS for lesson in DataProcessing(name).lessons()]
    llm = LLM(lessons, seed)
    loss = llm.teach(lessons)
    print(f"Toy model with {llm.total_layers} layers, taught {len(lessons)} texts; loss {loss:.3f}")
    return llm


def report(title: str, scores: Scores) -> Depth:
    """Print a table of the scores a layer and the accuracy curve; return the depths."""
    print(f"\n{title}\n  layer  accuracy      F1     AUC")
    for layer, (accuracy, f1, auc) in enumerate(zip(*scores, strict=True)):
        print(f"  {layer:5d}  {accuracy:8.3f}  {f1:6.3f}  {auc:6.3f}")
    print(draw_curve(scores[0]))
    depth = concept_depth(scores[0])
    print(f"  {depth}")
    return depth


def main() -> None:
    """Teach the model, then probe and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", choices=list(CONCEPTS))
    parser.add_argument("--noise", type=int, default=0, help="random letters before each prompt")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    llm = teach_model(args.seed)
    data = DataProcessing(args.dataset, args.noise, args.seed)
    report(f"{args.dataset}, {args.noise} letters of noise", probe_concept(llm, data))


if __name__ == "__main__":
    main()
