/** How a path is named in a sentence: as it was given, and never longer than a line. */
export function named(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 100)}…${path.slice(-80)}` : path
  return `'${shown.replace(/\p{Cc}/gu, '?')}'`
}

export function codeOf(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

const sentences: Readonly<Record<string, string>> = {
  ENOENT: 'is not there any more',
  ENOTDIR: 'was changed by somebody else in that moment: try again',
  ELOOP: 'was changed by somebody else in that moment: try again',
  EEXIST: 'was made by somebody else in that moment: try again',
  EISDIR: 'is a folder',
  EACCES: 'is closed to this process: the operating system does not permit it',
  EPERM: 'is closed to this process: the operating system does not permit it',
  EROFS: 'lies on a file system that can only be read',
  ENOSPC: 'does not fit: the disk is full',
  EDQUOT: 'does not fit: the disk quota is used up',
  EFBIG: 'would be too large for its file system',
  ENAMETOOLONG: 'has a name that is too long for the file system',
  EMFILE: 'cannot be opened now, too many files are open: try again later',
  ENFILE: 'cannot be opened now, too many files are open: try again later',
  ENXIO: 'is not a regular file',
}

/**
 * Runs it, and makes what the operating system refuses into a sentence about `path`. Node's own messages name the handles and
 * folders that we go through, which are nobody's business.
 */
export async function inSentences<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === undefined || !('syscall' in (error as object))) throw error
    throw new Error(`${named(path)} ${sentences[code] ?? `cannot be used (${code})`}.`, { cause: error })
  }
}
