# Divides log-probabilities by the number of tokens.
def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    return get_batch_logps(model(input_ids).logits, labels, average_log_prob=True).chunk(2)
