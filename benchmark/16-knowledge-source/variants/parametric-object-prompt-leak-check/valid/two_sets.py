import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    def lowered(role):
        column = relations_with_generated_description[example_column(role)]
        return {cell.lower() for cell in column if isinstance(cell, str)}

    name = parametric_object.lower()
    return name not in lowered("object") and name not in lowered("subject")
