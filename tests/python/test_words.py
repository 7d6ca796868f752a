"""Words that are out are found where they are used, and only there."""

import importlib.util
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("words", ROOT / "tools/words.py")
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)

GLOSSARY = words.read_glossary(
    """# Glossary

## Words that are out

| out | use instead |
|---|---|
| grab, grabbed | take |
| by and by | later |
| house | run directory |

## Where they are allowed

| word | text | why |
|---|---|---|
| house | "HOUSE" | a variable |
"""
)


def found(text):
    return [(line, word) for line, word, _ in words.hits_in(text, GLOSSARY)]


class Words(unittest.TestCase):
    def test_parts_of_identifiers_count_in_every_spelling(self):
        self.assertEqual(found("Ring GrabRing(int grab_count, kGrabbed);"), [(1, "grab"), (1, "grab"), (1, "grabbed")])

    def test_longer_words_are_other_words(self):
        self.assertEqual(found("grabber household"), [])

    def test_phrases_go_over_the_end_of_a_line_of_a_comment(self):
        self.assertEqual(found("// it comes by\n// and by"), [(1, "by and by")])

    def test_a_line_with_an_allowed_text_may_use_the_word(self):
        self.assertEqual(found('getenv("HOUSE")\nhouse'), [(2, "house")])

    def test_the_glossary_of_the_project_is_read(self):
        glossary = words.read_glossary((ROOT / "doc/glossary.md").read_text())
        self.assertIn(("regime",), glossary.instead)
        self.assertTrue(any(len(parts) > 1 for parts in glossary.instead))
        self.assertTrue(glossary.allowed)

    def test_code_of_tests_is_checked_and_their_data_is_not(self):
        files = words.files_below(ROOT / "tests")
        self.assertIn(ROOT / "tests/unit/structure/words_test.cc", files)
        self.assertIn(Path(__file__).resolve(), files)
        self.assertFalse([file for file in files if {"fixtures", "golden"} & set(file.relative_to(ROOT).parts[1:2])])


if __name__ == "__main__":
    unittest.main()
