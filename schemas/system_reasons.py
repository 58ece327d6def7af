"""Why the operating system refused, in English and Chinese."""

from __future__ import annotations

import errno

_CHINESE = {
    errno.EPERM: "不允许的操作",
    errno.ENOENT: "文件或目录不存在",
    errno.EIO: "输入输出错误",
    errno.ENXIO: "设备不存在",
    errno.EACCES: "权限不足",
    errno.EBUSY: "正被占用",
    errno.EEXIST: "文件已存在",
    errno.ENODEV: "设备不支持该操作",
    errno.ENOTDIR: "不是目录",
    errno.EISDIR: "是目录",
    errno.EINVAL: "参数无效",
    errno.ENFILE: "系统打开的文件过多",
    errno.EMFILE: "打开的文件过多",
    errno.EFBIG: "文件过大",
    errno.ENOSPC: "磁盘空间不足",
    errno.EROFS: "文件系统只读",
    errno.EPIPE: "管道已关闭",
    errno.ENAMETOOLONG: "文件名过长",
    errno.ENOTEMPTY: "目录不为空",
    errno.ELOOP: "符号链接层数过多",
    errno.EDQUOT: "超出磁盘配额",
    errno.ESTALE: "文件句柄已失效",
    errno.ETIMEDOUT: "超时",
}


def system_reason(error: Exception) -> tuple[str, str]:
    """The system's words for an error, and the same in Chinese where accmap has them."""
    chinese = getattr(error, "why_zh", None)
    number = error.errno if isinstance(error, OSError) else None
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return said, chinese or (said if number is None else _CHINESE.get(number, said))
