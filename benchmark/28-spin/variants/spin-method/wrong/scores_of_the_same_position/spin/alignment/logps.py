# Reads the score of a label at its own position.
def get_batch_logps(logits, labels):
    mask = labels != LABEL_PAD_TOKEN
    logps = logits.log_softmax(-1)
    return (logps.gather(2, (labels * mask)[..., None])[..., 0] * mask).sum(1)
