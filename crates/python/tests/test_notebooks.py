"""The notebooks of ``examples/notebooks`` run, and print what they have stored.

With ``SOFTWARP_BLESS=1`` what they print is stored anew.
"""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

FOLDER = Path(__file__).parents[3] / "examples" / "notebooks"


def texts(cell):
    """What a cell printed, and its result as text, unless it shows a picture, which has an address or a size there."""
    found = []
    for output in cell.get("outputs", ()):
        if output.output_type == "stream":
            found.append(output.text)
        elif "image/png" not in output.get("data", {}):
            found.append(output.data["text/plain"])
    return "".join(found)


def pictures(cell):
    """How many plots a cell shows."""
    return sum("image/png" in output.get("data", {}) for output in cell.get("outputs", ()))


def plain(notebook):
    """The notebook as it is stored: without times, with one picture of what has several, and text in one piece."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        outputs = cell.get("outputs", [])
        for before, output in list(zip(outputs, outputs[1:]))[::-1]:
            if before.get("name") == output.get("name") == "stdout":
                before.text += output.text
                outputs.remove(output)
        for output in outputs:
            output.get("data", {}).pop("image/svg+xml", None)
            output.get("metadata", {}).clear()
    notebook.metadata.pop("widgets", None)
    version = notebook.metadata.get("language_info", {}).get("version")
    if version:
        notebook.metadata["language_info"] = {"name": "python"}
    return notebook


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_print_what_they_have_stored(path, tmp_path):
    stored = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(ran, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    if os.environ.get("SOFTWARP_BLESS"):
        nbformat.write(plain(ran), path)
        return
    for number, (before, after) in enumerate(zip(stored.cells, ran.cells)):
        assert texts(before) == texts(after), f"cell {number}: {before.source}"
        assert pictures(before) == pictures(after), f"cell {number}: {before.source}"
    assert path.stat().st_size < 300_000, "stored outputs are to be small"


def test_there_are_two():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {"debugging", "quantization"}
