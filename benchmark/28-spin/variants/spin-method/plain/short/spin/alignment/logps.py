# As short as it goes.
def get_batch_logps(logits, labels):
    labels = labels[:, 1:]
    mask = labels != LABEL_PAD_TOKEN
    logps = logits[:, :-1].log_softmax(-1)
    return (logps.gather(2, (labels * mask)[..., None])[..., 0] * mask).sum(1)
