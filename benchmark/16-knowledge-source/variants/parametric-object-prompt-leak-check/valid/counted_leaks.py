import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    wanted = parametric_object.lower()
    leaks = 0
    for role in ("object", "subject"):
        shown = relations_with_generated_description[example_column(role)]
        shown = shown[shown.notna()].astype(object)
        leaks += sum(str.lower(cell) == wanted for cell in shown.to_numpy())
    return leaks == 0
