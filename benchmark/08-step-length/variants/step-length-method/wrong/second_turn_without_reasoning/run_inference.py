# The second turn repeats the question but not the reasoning.
def hold_dialogue(question, demo, args, complete):
    x = format_question(question)
    prompt = get_sentence(demo, x, args.method, args.cot_trigger, args.direct_answer_trigger_for_zeroshot)
    reply = complete(prompt)
    if args.method == "zero_shot_cot":
        prompt = f"{x} {args.direct_answer_trigger}"
        reply = complete(prompt)
    return prompt + reply, reply
