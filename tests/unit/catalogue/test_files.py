"""Digests of files and folders that parameters name."""

from __future__ import annotations

import os

from assay.catalogue.files import NamedPath


def test_a_path_is_there_as_what_its_parameter_asks_for(tmp_path):
    (tmp_path / "a").write_text("a")
    file, folder = str(tmp_path / "a"), str(tmp_path)
    assert NamedPath(file, "File").is_there
    assert NamedPath(folder, "Folder").is_there
    assert not NamedPath(file, "Folder").is_there
    assert NamedPath(folder, "File").digest == f"missing:{folder}"
    assert NamedPath("", "Folder").digest == NamedPath("", "File").digest == "missing:"


def test_a_folder_is_its_paths_and_contents(tmp_path):
    def digest():
        return NamedPath(str(tmp_path), "Folder").digest

    seen = [digest()]
    for name, content in (("a", "1"), ("b/c", "1"), ("b/d", ""), ("a", "2")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        seen.append(digest())
    (tmp_path / "b" / "d").rename(tmp_path / "d")
    seen.append(digest())
    assert len(set(seen)) == len(seen)
    (tmp_path / "d").rename(tmp_path / "b" / "d")
    assert digest() == seen[-2]


def test_links_are_followed_and_never_round_in_a_circle(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("1")
    (tmp_path / "seen").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "seen" / "class")
    os.symlink(tmp_path / "seen", tmp_path / "seen" / "round")
    folder = NamedPath(str(tmp_path / "seen"), "Folder")
    before = folder.digest
    (tmp_path / "real" / "a").write_text("22")
    assert folder.digest != before
