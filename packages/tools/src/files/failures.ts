/** A path for an error message: quoted, on one line and not too long. */
export function quotedPath(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 100)}…${path.slice(-80)}` : path
  return `'${shown.replace(/\p{Cc}/gu, '?')}'`
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

const explanations: Readonly<Record<string, string>> = {
  ENOENT: 'no longer exists',
  ENOTDIR: 'was changed by another process at the same time: try again',
  ELOOP: 'was changed by another process at the same time: try again',
  EEXIST: 'was created by another process at the same time: try again',
  EISDIR: 'is a folder',
  EACCES: 'cannot be accessed: permission denied by the operating system',
  EPERM: 'cannot be accessed: permission denied by the operating system',
  EROFS: 'is on a read-only file system',
  ENOSPC: 'cannot be written: the disk is full',
  EDQUOT: 'cannot be written: the disk quota is exceeded',
  EFBIG: 'would be too large for its file system',
  ENAMETOOLONG: 'has a name that is too long for the file system',
  EMFILE: 'cannot be opened because too many files are open: try again later',
  ENFILE: 'cannot be opened because too many files are open: try again later',
  ENXIO: 'is not a regular file',
}

/**
 * Runs `work` and turns errors of the operating system into sentences about `path`. Node's own messages
 * contain internal handles and absolute paths.
 */
export async function explainErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || !('syscall' in (error as object))) throw error
    throw new Error(`${quotedPath(path)} ${explanations[code] ?? `cannot be used (${code})`}.`, {
      cause: error,
    })
  }
}
