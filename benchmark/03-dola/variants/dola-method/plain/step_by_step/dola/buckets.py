# Written from the paper: one equation after the other, in probabilities where possible.
import math

import torch

from dola.scoring import question_quality


def layer_buckets(num_layers, count):
    result = []
    for b in range(count):
        start = math.ceil(b * num_layers / count)
        end = math.ceil((b + 1) * num_layers / count)
        result.append([layer for layer in range(start, end) if layer % 2 == 0])
    return result


def bucket_scores(model, questions, buckets, mature_layer, relative_top=0.1):
    scores = []
    for bucket in buckets:
        qualities = []
        for question in questions:
            qualities.append(
                question_quality(
                    model,
                    question,
                    mature_layer,
                    candidate_premature_layers=bucket,
                    relative_top=relative_top,
                )
            )
        scores.append(torch.stack(qualities).mean())
    return torch.stack(scores)
