import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from 'millrace/internal'
import { fromEditor, type OpenInEditor } from '../editor.ts'
import type { ClientTerminal, TerminalExit } from '../workspace-client.ts'
import type { Command, CommandEnd, CommandSpec } from './command.ts'
import { outputStore } from './output-store.ts'
import { processTree } from './process-tree.ts'
import { newMarker, watcher } from './watcher.ts'

/** An editor sends all output that it keeps with each answer. */
const maxKeptBytes = 256 * 1024
/** How often it is asked: soon after there was something new, later otherwise. */
const [pollMs, maxPollMs] = [100, 1_000]
/** How long to wait for an editor that does not answer, once the command must end. */
const patienceMs = 1_000

interface Opening {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly progress: (data: unknown) => void
}

/**
 * Runs a command in a terminal of the editor. It sees the same environment as elsewhere, not the
 * editor's. Rejects if the editor cannot open a terminal.
 */
export async function startInTerminal(
  editor: OpenInEditor,
  spec: CommandSpec,
  { timeoutMs, signal, progress }: Opening,
): Promise<Command> {
  const { marker, env } = newMarker()
  const folder = await mkdtemp(join(plainFolder(), 'millrace-'))
  const removeFolder = () => rm(folder, { recursive: true, force: true })
  const file = join(folder, 'command')
  const opening = (async () => {
    await writeFile(file, scriptFor(spec, { ...spec.env, ...env }, folder), { mode: 0o600 })
    watcher.wake()
    const outputByteLimit = Math.min(spec.maxOutputBytes, maxKeptBytes)
    // Some editors run a program with arguments, others join them to a line for a shell, unquoted.
    const command = {
      command: '/usr/bin/env',
      args: ['-i', '/bin/sh', file],
      cwd: editor.path,
      outputByteLimit,
    }
    return editor.client.createTerminal?.(command) as Promise<ClientTerminal>
  })()
  const openingSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const startedAt = performance.now()
  try {
    const terminal = await fromEditor('open a terminal', opening, openingSignal)
    progress({ display: { terminal: terminal.id } })
    return followTerminal(terminal, spec, { marker, startedAt, removeFolder })
  } catch (error) {
    void opening.then((terminal) => terminal.release()).catch(() => {})
    await removeFolder()
    if (openingSignal.aborted && !signal.aborted)
      throw new Error(`The editor did not open a terminal within ${timeoutMs / 1_000} s.`)
    throw error
  }
}

interface Started {
  readonly marker: string
  readonly startedAt: number
  readonly removeFolder: () => Promise<void>
}

function followTerminal(
  terminal: ClientTerminal,
  { maxOutputBytes, graceMs, onOutput }: CommandSpec,
  { marker, startedAt, removeFolder }: Started,
): Command {
  // Its processes are not ours, and are found by their environment only. The editor ends the others.
  const tree = processTree({ leader: -1, marker })
  const givenUp = Promise.withResolvers<TerminalExit>()
  let output = outputStore(maxOutputBytes)
  let seen = ''
  let running = true

  /** Whether there was anything new. */
  async function takeOutput(): Promise<boolean> {
    const { output: text, truncated } = await terminal.currentOutput()
    if (text === seen) return false
    const isRewritten = !text.startsWith(seen) && !truncated
    if (isRewritten) output = outputStore(maxOutputBytes)
    const fresh = Buffer.from(truncated ? afterOverlap(seen, text) : text.slice(commonLength(seen, text)))
    output.push(1, isRewritten ? Buffer.from(text) : fresh)
    onOutput?.(1, fresh)
    seen = text
    return true
  }

  async function exitOf(): Promise<TerminalExit> {
    let exit: TerminalExit | undefined
    const exited = terminal.waitForExit().then((found) => {
      exit = found
    })
    for (let waitMs = pollMs; !exit && running; ) {
      await Promise.race([exited, pause(waitMs, undefined, { ref: false })])
      waitMs = (await takeOutput()) ? pollMs : Math.min(waitMs * 2, maxPollMs)
    }
    return exit ?? {}
  }

  async function finish(): Promise<CommandEnd> {
    let isLost = false
    const exit = await Promise.race([exitOf(), givenUp.promise]).catch((error): TerminalExit => {
      isLost = true
      output.push(1, Buffer.from(`\n[the terminal of the editor was lost: ${messageOf(error)}]\n`))
      return { signal: 'SIGHUP' }
    })
    running = false
    const ms = performance.now() - startedAt
    const leftOver = await tree.end({ graceMs, patienceMs: 300 })
    await within(takeOutput())
    await within(terminal.release())
    await removeFolder()
    const { exitCode = null, signal = null } = exit
    // An editor that cannot say how it ended has ended it.
    const unknown = exitCode === null && signal === null
    return {
      code: exitCode,
      signal: (unknown ? 'SIGKILL' : signal) as NodeJS.Signals | null,
      ms,
      leftOver: isLost ? 0 : leftOver,
      deniedHosts: [],
    }
  }

  const ended = finish()
  return {
    get output() {
      return output
    },
    ended,
    get running() {
      return running
    },
    async end() {
      if (running) {
        await tree.end({ graceMs })
        await within(terminal.kill())
        // An editor that does not answer must not keep the call.
        await Promise.race([ended, pause(patienceMs)])
        givenUp.resolve({ signal: 'SIGKILL' })
      }
      return ended
    },
    unref() {},
  }
}

/** Waits for an editor that may be gone. */
async function within(answer: Promise<unknown>): Promise<void> {
  await Promise.race([answer, pause(patienceMs)]).catch(() => {})
}

/** The length of the lines that both texts begin with; all of `before` if nothing was rewritten. */
function commonLength(before: string, after: string): number {
  if (after.startsWith(before)) return before.length
  let length = 0
  while (length < before.length && before[length] === after[length]) length++
  return before.lastIndexOf('\n', length - 1) + 1
}

/** What follows the end of `before` in a text whose beginning was dropped. */
function afterOverlap(before: string, after: string): string {
  const length = overlapOf(before, after)
  return length > 0 ? after.slice(length) : `\n[…]\n${after}`
}

/**
 * The length of the longest end of `before` that `after` begins with. Linear (Knuth, Morris, Pratt),
 * since a command may print the same line forever.
 */
function overlapOf(before: string, after: string): number {
  const borders = new Uint32Array(after.length)
  const extend = (length: number, character: string | undefined) => {
    let longest = length
    while (longest > 0 && (longest === after.length || after[longest] !== character))
      longest = borders[longest - 1] ?? 0
    return after[longest] === character ? longest + 1 : longest
  }
  for (let at = 1; at < after.length; at++) borders[at] = extend(borders[at - 1] ?? 0, after[at])
  let length = 0
  for (let at = 0; at < before.length; at++) length = extend(length, before[at])
  return length
}

/** A folder for temporary files without characters that a shell would interpret. */
function plainFolder(): string {
  return /^[\w./-]+$/.test(tmpdir()) ? tmpdir() : '/tmp'
}

/**
 * The file removes its folder when it runs, since the environment may hold secrets. Passing that on a
 * command line would show it to all users of the machine.
 */
function scriptFor({ file, args, cwd }: CommandSpec, env: CommandSpec['env'], folder: string): string {
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  const isPlain = ([name = '']: string[]) => /^[A-Za-z_]\w*$/.test(name)
  const others = variables.filter((variable) => !isPlain(variable)).map((variable) => variable.join('='))
  return [
    `rm -rf ${quote(folder)}`,
    `cd ${quote(cwd)} || exit 126`,
    ...variables.filter(isPlain).map(([name, value = '']) => `export ${name}=${quote(value)}`),
    `exec ${[...(others.length > 0 ? ['env', ...others] : []), file, ...args].map(quote).join(' ')} </dev/null`,
    '',
  ].join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
