import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    name = parametric_object.lower()
    columns = [example_column("object"), example_column("subject")]
    cells = relations_with_generated_description[columns].astype(object)
    same = cells.map(lambda cell: isinstance(cell, str) and cell.lower() == name)
    return bool(~same.to_numpy(dtype=bool).any())
