import pandas as pd


def is_parametric_object_not_in_the_prompt(parametric_object, relations_with_generated_description):
    table = relations_with_generated_description
    subjects = table[example_column("subject")].str.strip().str.lower()
    objects = table[example_column("object")].str.strip().str.lower()
    name = parametric_object.strip().lower()
    return not ((subjects == name).any() or (objects == name).any())
