# Shows answers alone in Auto-CoT.
def create_demonstrations(args):
    if args.method in ("zero_shot", "zero_shot_cot"):
        return None
    return create_demo_text(args, cot_flag=args.method == "few_shot_cot")
