# Asks for the answer in a second turn in every method with reasoning.
def hold_dialogue(question, demo, args, complete):
    direct = args.direct_answer_trigger_for_zeroshot
    prompt = get_sentence(demo, format_question(question), args.method, args.cot_trigger, direct)
    reply = complete(prompt)
    if args.method.endswith("cot"):
        prompt = f"{prompt}{reply} {args.direct_answer_trigger}"
        reply = complete(prompt)
    return prompt + reply, reply
