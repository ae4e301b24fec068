import torch


def token_matches(similarity, ref_masks, hyp_masks):
    outside = (hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)) == 0
    similarity = similarity.masked_fill(outside, 0.0)
    # Large and negative, but finite: on padding all shares are equal.
    logits = (similarity / 0.1).masked_fill(outside, torch.finfo(similarity.dtype).min)
    return (logits.softmax(2) * similarity).sum(2), (logits.softmax(1) * similarity).sum(1)
