import { MillraceError } from 'millrace'
import { messageOf } from 'millrace/internal'

/** The result of one run of the program. */
export interface ProgramRun {
  readonly stdout: string
  /** The WAV file it wrote, or empty. */
  readonly wav: Uint8Array
}

/** The virtual input and output files. The program has no access to the real file system. */
export const fileIn = '/in'
export const fileOut = '/out'

const errors = { badFile: 8, noEntry: 44, noSeek: 70 } as const
/** The file descriptor of its root folder, the first after stdin, stdout and stderr. */
const folder = 3

interface OpenFile {
  readonly parts: { readonly at: number; readonly bytes: Uint8Array }[]
  readonly content: Uint8Array
  at: number
  size: number
}

/**
 * Runs flite once. It is a WASI (preview 1) program; this implements the thirteen functions that it
 * imports, since `node:wasi` sometimes crashed the whole process. Each run gets a fresh memory,
 * which takes 8 ms, so that nothing is left over from the previous one.
 */
export function runFlite(module: WebAssembly.Module, args: readonly string[], input = ''): ProgramRun {
  const argv = ['flite', ...args].map((arg) => new TextEncoder().encode(`${arg}\0`))
  const printed: Uint8Array[] = []
  const files = new Map<number, OpenFile>()
  let written: OpenFile | undefined
  let memory = new WebAssembly.Memory({ initial: 0 })
  const view = () => new DataView(memory.buffer)
  const bytes = () => new Uint8Array(memory.buffer)

  /** Pairs of an address and a length. */
  function* vectors(list: number, count: number) {
    for (let at = list; at < list + 8 * count; at += 8) {
      const start = view().getUint32(at, true)
      yield bytes().subarray(start, start + view().getUint32(at + 4, true))
    }
  }

  const imports = {
    args_sizes_get(count: number, size: number) {
      view().setUint32(count, argv.length, true)
      view().setUint32(size, concat(argv).length, true)
      return 0
    },
    args_get(pointers: number, start: number) {
      let at = start
      argv.forEach((arg, index) => {
        view().setUint32(pointers + 4 * index, at, true)
        bytes().set(arg, at)
        at += arg.length
      })
      return 0
    },
    // Only used for benchmarks that flite can print.
    clock_time_get(_id: number, _precision: bigint, time: number) {
      view().setBigUint64(time, 0n, true)
      return 0
    },
    fd_close(fd: number) {
      return files.delete(fd) ? 0 : errors.badFile
    },
    fd_fdstat_get(fd: number, stat: number) {
      const kind = fd < folder ? 2 : fd === folder ? 3 : 4
      view().setUint8(stat, kind)
      view().setUint16(stat + 2, 0, true)
      // All rights.
      view().setBigUint64(stat + 8, 2n ** 64n - 1n, true)
      view().setBigUint64(stat + 16, 2n ** 64n - 1n, true)
      return 0
    },
    fd_fdstat_set_flags: () => 0,
    fd_prestat_get(fd: number, stat: number) {
      if (fd !== folder) return errors.badFile
      view().setUint8(stat, 0)
      view().setUint32(stat + 4, 1, true)
      return 0
    },
    fd_prestat_dir_name(_fd: number, name: number) {
      bytes()[name] = '/'.charCodeAt(0)
      return 0
    },
    fd_read(fd: number, list: number, count: number, size: number) {
      const file = files.get(fd)
      if (!file) return errors.badFile
      const before = file.at
      for (const vector of vectors(list, count)) {
        const part = file.content.subarray(file.at, file.at + vector.length)
        vector.set(part)
        file.at += part.length
      }
      view().setUint32(size, file.at - before, true)
      return 0
    },
    fd_seek(fd: number, offset: bigint, whence: number, position: number) {
      const file = files.get(fd)
      if (!file) return errors.noSeek
      file.at = Number(offset) + (whence === 0 ? 0 : whence === 1 ? file.at : file.size)
      view().setBigUint64(position, BigInt(file.at), true)
      return 0
    },
    fd_write(fd: number, list: number, count: number, size: number) {
      const file = files.get(fd)
      if (!file && fd >= folder) return errors.badFile
      let total = 0
      for (const vector of vectors(list, count)) {
        const part = vector.slice()
        total += part.length
        if (file) {
          file.parts.push({ at: file.at, bytes: part })
          file.at += part.length
          file.size = Math.max(file.size, file.at)
        } else if (fd === 1) printed.push(part)
      }
      view().setUint32(size, total, true)
      return 0
    },
    path_open(...[, , name, length, , , , , opened]: number[]) {
      const path = `/${new TextDecoder().decode(bytes().subarray(name, (name ?? 0) + (length ?? 0)))}`
      if (path !== fileIn && path !== fileOut) return errors.noEntry
      const content = path === fileIn ? new TextEncoder().encode(input) : new Uint8Array()
      const file: OpenFile = { parts: [], content, at: 0, size: content.length }
      if (path === fileOut) written = file
      const fd = folder + 1 + files.size
      files.set(fd, file)
      view().setUint32(opened ?? 0, fd, true)
      return 0
    },
    proc_exit(code: number) {
      throw new Exit(code)
    },
  }

  const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports })
  memory = exports.memory as WebAssembly.Memory
  const code = exitOf(exports._start as () => void)
  if (code !== 0) throw failure(`exited with code ${code}`)
  return { stdout: new TextDecoder().decode(concat(printed)), wav: contentOf(written) }
}

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

function exitOf(start: () => void): number {
  try {
    start()
    return 0
  } catch (thrown) {
    if (thrown instanceof Exit) return thrown.code
    throw failure(`crashed: ${messageOf(thrown)}`)
  }
}

function failure(what: string): MillraceError {
  return new MillraceError({ op: 'speech.synthesize', code: 'internal', message: `flite ${what}` })
}

/** flite writes the WAV header first, and again when it knows the length. */
function contentOf(file: OpenFile | undefined): Uint8Array {
  const content = new Uint8Array(file?.size ?? 0)
  for (const { at, bytes } of file?.parts ?? []) content.set(bytes, at)
  return content
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
