# Counts the tokens of the prompt, too.
def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    labels = input_ids.masked_fill(input_ids == PAD_TOKEN, IGNORE_LABEL)
    return get_batch_logps(model(input_ids).logits, labels).chunk(2)
