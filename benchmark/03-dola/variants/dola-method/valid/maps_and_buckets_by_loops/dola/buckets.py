# Finds the bucket of each layer, and scores answers question by question.
import torch

from dola.scoring import question_quality


def layer_buckets(num_layers, count):
    buckets = [[] for _ in range(count)]
    for layer in range(0, num_layers, 2):
        buckets[layer * count // num_layers].append(layer)
    return buckets


def bucket_scores(model, questions, buckets, mature_layer, relative_top=0.1):
    totals = []
    for bucket in buckets:
        total = 0.0
        for question in questions:
            total = total + question_quality(
                model, question, mature_layer, candidate_premature_layers=bucket, relative_top=relative_top
            )
        totals.append(total / len(questions))
    return torch.stack(totals)
