import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    wanted = parametric_object.lower()
    table = relations_with_generated_description
    pairs = zip(table[example_column("subject")].tolist(), table[example_column("object")].tolist())
    return not any(isinstance(entity, str) and entity.lower() == wanted for pair in pairs for entity in pair)
