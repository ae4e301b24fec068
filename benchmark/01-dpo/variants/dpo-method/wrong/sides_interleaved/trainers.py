# Takes chosen and rejected responses to alternate.
def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    logps = get_batch_logps(model(input_ids).logits, labels)
    return logps[::2], logps[1::2]
