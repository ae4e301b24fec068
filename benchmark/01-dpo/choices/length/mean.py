def concatenated_forward(model, batch):
    input_ids, labels = concatenated_inputs(batch)
    chosen_logps, rejected_logps = get_batch_logps(model(input_ids).logits, labels, average_log_prob=True).chunk(2)
    return chosen_logps, rejected_logps
