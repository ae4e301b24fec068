# Counts the questions whose true answers have more than half of the probability.
import torch

from dola.scoring import question_quality


def bucket_scores(model, questions, buckets, mature_layer, relative_top=0.1):
    rows = []
    for bucket in buckets:
        qualities = [
            question_quality(model, question, mature_layer, None, bucket, relative_top) for question in questions
        ]
        rows.append((torch.stack(qualities) > 0.5).to(qualities[0].dtype).mean())
    return torch.stack(rows)
