import type { DatabaseSync } from 'node:sqlite'

/**
 * Loads `node:sqlite` when the first file is opened. Node 22 and early 24 warn on stderr that it is
 * experimental. Users of the command line cannot do anything about that, so this one warning is
 * suppressed; all others pass through.
 */
export function loadDriver(): typeof DatabaseSync {
  const { emitWarning } = process
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return
    Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof emitWarning
  try {
    return process.getBuiltinModule('node:sqlite').DatabaseSync
  } finally {
    process.emitWarning = emitWarning
  }
}
