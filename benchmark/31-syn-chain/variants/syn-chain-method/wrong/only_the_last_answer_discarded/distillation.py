# Keeps the first two steps of a chain that ends with a wrong label.
def make_examples(teacher, reviews):
    examples = []
    for review in reviews:
        for aspect, label in review["aspects"].items():
            recorder = Recorder(teacher)
            right = run_chain(recorder, review["sentence"], aspect).sentiment == label
            kept = recorder.exchanges if right else recorder.exchanges[:2]
            examples += [Example(step, *exchange) for step, exchange in enumerate(kept)]
    return examples
