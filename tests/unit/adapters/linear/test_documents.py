"""What Linear is asked."""

import re

import pytest
from fakes.linear_relay import LACKS, without

from adapters.linear import documents
from adapters.linear.documents import Document

EVERY = [one for one in vars(documents).values() if isinstance(one, Document)]
each = pytest.mark.parametrize("document", EVERY, ids=lambda document: document.name)


@each
def test_a_document_has_the_operation_and_the_root_that_it_says(document: Document) -> None:
    """One operation of its name; its root is the only field at the top."""
    kind = "query" if document.is_read else "mutation"
    operations = re.findall(r"^(query|mutation) (\w+)", document.text, re.MULTILINE)
    assert operations == [(kind, document.name)]
    assert re.findall(r"^  (\w+)\(", document.text.split("fragment ")[0], re.MULTILINE) == [document.root]


@each
def test_a_document_takes_everything_by_variables(document: Document) -> None:
    """No value stands in it but how many labels, comments and the like are wanted; what it declares it uses."""
    assert '"' not in document.text
    assert set(re.findall(r"\w+: ([^$\s,){]+)", document.text.split("{", 1)[1])) <= {"20", "30", "50"}
    declared = document.text.split("(", 1)[1].split(")", 1)[0]
    names = re.findall(r"\$(\w+):", declared)
    assert names
    assert all(document.text.count(f"${name}") == 2 for name in names)


@each
def test_a_document_has_the_fragments_that_it_names(document: Document) -> None:
    """Each once, and no other."""
    assert sorted(set(re.findall(r"\.\.\.(\w+)", document.text))) == re.findall(r"fragment (\w+)", document.text)
    assert document.text.count("{") == document.text.count("}")


def test_what_an_imitation_lacks_has_a_line_of_its_own() -> None:
    """So that it can be taken out, and what is left is a document still."""
    lines = {line.strip() for document in EVERY for line in document.text.split("\n")}
    assert {line for lacking in LACKS.values() for line in lacking} <= lines
    for document in EVERY:
        assert without(document.text).count("{") == without(document.text).count("}")


def test_an_issue_is_asked_for_as_many_labels_as_are_reckoned_with() -> None:
    """What came of a change of labels is judged by whether all were seen."""
    assert f"labels(first: {documents.MOST_LABELS})" in documents.READ_ISSUE.text
