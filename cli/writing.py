"""Writing an answer to a file: whole or not at all, and never over an existing file unasked."""

from __future__ import annotations

import os
import tempfile

from ..schemas.system_reasons import system_reason
from .parsing import UsageError


def standing_already(*names: str) -> UsageError:
    """The refusal to write over files unasked."""
    return UsageError(f"{', '.join(names)} exists; --force overwrites it", f"{'、'.join(names)} 已存在；--force 可覆盖")


def write_text(path: str, text: str, *, force: bool = False) -> None:
    """Put `text` at `path`; UsageError where a file stands there already or the place cannot be written."""
    write_texts({path: text}, force=force)


def write_texts(files: dict[str, str], *, force: bool = False) -> None:
    """Put several texts in place; nothing is written where one of them may not be."""
    if "-" in files:
        raise UsageError(
            "- would be a file of that name, not standard output; write ./- if it is meant",
            "- 会成为同名文件而不是标准输出；若确实如此，请写作 ./-",
        )
    if not force:
        standing = [path for path in files if os.path.lexists(path)]
        if standing:
            raise standing_already(*standing)
    waiting: list[tuple[str, str]] = []
    current = ""
    try:
        for path, text in files.items():
            # Through a link the file it leads to is replaced, and the link stays.
            current = path
            waiting.append((_beside(os.path.realpath(path), text), os.path.realpath(path)))
        for written, path in waiting:
            current = path
            os.replace(written, path)
    except OSError as error:
        why, why_zh = system_reason(error)
        raise UsageError(f"{current} cannot be written: {why}", f"无法写入 {current}：{why_zh}") from None
    except UnicodeEncodeError:
        raise UsageError(
            f"{current} cannot be written: a name in it is not UTF-8", f"无法写入 {current}：其中有名称不是 UTF-8"
        ) from None
    finally:
        for written, _ in waiting:
            if os.path.lexists(written):
                os.unlink(written)


def write_folder(directory: str, files: dict[str, str], *, force: bool = False) -> None:
    """Put several texts below a directory; the folders made for them go again where they cannot be written."""
    made: list[str] = []
    try:
        for folder in dict.fromkeys((directory, *map(os.path.dirname, files))):
            _make(folder, made)
        write_texts(files, force=force)
    except (OSError, UsageError) as error:
        for folder in reversed(made):
            os.rmdir(folder)
        if isinstance(error, OSError):
            why, why_zh = system_reason(error)
            raise UsageError(
                f"{error.filename} cannot be made: {why}", f"无法创建 {error.filename}：{why_zh}"
            ) from None
        raise


def _make(folder: str, made: list[str]) -> None:
    """Make a folder and those above it that are missing, and note which."""
    folder = folder.rstrip("/") or folder
    if folder and not os.path.isdir(folder):
        _make(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _beside(path: str, text: str) -> str:
    """The text in a new file next to `path`, from where a rename puts it in place at once."""
    folder, name = os.path.split(path)
    handle, written = tempfile.mkstemp(prefix=f".{name}.", dir=folder or ".")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.chmod(written, _mode(path))
    except BaseException:
        os.unlink(written)
        raise
    return written


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those a new file gets."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
