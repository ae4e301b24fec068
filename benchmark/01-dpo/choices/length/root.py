def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    logps = get_batch_logps(model(input_ids).logits, labels)
    counts = (labels[:, 1:] != IGNORE_LABEL).sum(dim=1)
    chosen_logps, rejected_logps = (logps / counts.to(logps.dtype).sqrt()).chunk(2)
    return chosen_logps, rejected_logps
