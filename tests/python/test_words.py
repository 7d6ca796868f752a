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
| adopt, adopted | claim |
| not yet | so far not |
| home | run directory |

## Where they are allowed

| word | text | why |
|---|---|---|
| home | "HOME" | a variable |
"""
)


def found(text):
    return [(line, word) for line, word, _ in words.hits_in(text, GLOSSARY)]


class Words(unittest.TestCase):
    def test_parts_of_identifiers_count_in_every_spelling(self):
        self.assertEqual(found("Ring AdoptRing(int adopt_count, kAdopted);"), [(1, "adopt"), (1, "adopt"), (1, "adopted")])

    def test_longer_words_are_other_words(self):
        self.assertEqual(found("adoption homeless"), [])

    def test_phrases_go_over_the_end_of_a_line_of_a_comment(self):
        self.assertEqual(found("// it is not\n// yet there"), [(1, "not yet")])

    def test_a_line_with_an_allowed_text_may_use_the_word(self):
        self.assertEqual(found('getenv("HOME")\nhome'), [(2, "home")])

    def test_the_glossary_of_the_project_is_read(self):
        glossary = words.read_glossary((ROOT / "doc/glossary.md").read_text())
        self.assertIn(("not", "yet"), glossary.instead)
        self.assertTrue(glossary.allowed)


if __name__ == "__main__":
    unittest.main()
