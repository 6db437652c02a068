import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { Access, ToolContext } from 'millrace'
import { toolContent } from 'millrace'
import { nestedRunOf } from 'millrace/internal'
import type { Background } from './background.ts'
import type { Command, CommandEnd, CommandOrder } from './command.ts'
import { argvAccess, commandAccess } from './commands/commands.ts'
import type { Place } from './commands/paths.ts'
import type { SeenAccess } from './commands/plain-line.ts'
import { commandEnvironment } from './environment.ts'
import { runToEnd } from './foreground.ts'
import { withoutGlobs } from './globs.ts'
import { leavesBehind } from './left-behind.ts'
import { withoutLinks } from './links.ts'
import { outputStore } from './output-store.ts'
import { callOutput, outcomeText, type Told } from './result-text.ts'
import { hostProxy } from './sandbox/proxy.ts'
import { findSandbox, sandboxed, sandboxProblem, sandboxRefusal } from './sandbox/sandbox.ts'
import type { ShellInput } from './shell-input.ts'
import { likelyWorkplace, workplace } from './workplace.ts'

/** The options of `shell()`, all of them there. */
export interface ShellSettings {
  readonly root: string
  readonly timeoutMs: number
  readonly maxTimeoutMs: number
  readonly maxOutputBytes: number
  readonly maxResultChars: number
  readonly env: Readonly<Record<string, string>>
  readonly passEnv: readonly string[]
  readonly sandbox: 'auto' | 'required' | 'off'
  readonly network: boolean | readonly string[]
  readonly writable: readonly string[]
  readonly maxBackground: number
  readonly backgroundMs: number
  readonly graceMs: number
  readonly program: string
}

interface Surroundings {
  readonly jobs: Background
  readonly onStart: (command: Command) => void
  readonly isClosed: () => boolean
}

/** A program and its words, before it is put in the sandbox. */
interface Wanted {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** What the tool `shell` does with a call, whatever form it has. */
export function shellCalls(settings: ShellSettings, { jobs, onStart, isClosed }: Surroundings) {
  const { root, program, network, writable, sandbox, maxTimeoutMs } = settings
  const proxy = typeof network === 'boolean' ? undefined : hostProxy(network)

  async function access(input: ShellInput): Promise<readonly Access[]> {
    const accesses = written(input).flatMap((one) =>
      withoutGlobs(one, root).map((found) => withoutLinks(found, root)),
    )
    // With all of the network a command can send away what it reads.
    const isOpen = typeof network === 'boolean' ? network : network.includes('*')
    const contained = !isOpen && (await hasSandbox())
    return contained ? accesses.map((one) => (one.kind === 'fetch' ? one : { ...one, contained })) : accesses
  }

  /** As its words have it. */
  function written(input: ShellInput): readonly SeenAccess[] {
    const home = settings.env.HOME ?? process.env.HOME ?? homedir()
    const place = { root, cwd: likelyWorkplace(root, input.cwd), home }
    switch (input.form) {
      case 'line':
        return lineAccess(input.line, place)
      case 'lines':
        return input.lines.flatMap((line) => lineAccess(line, place))
      case 'argv':
        return argvAccess(input.argv, place, input.env)
    }
  }

  /** To another shell than these a line may be anything. */
  function lineAccess(line: string, place: Place): readonly SeenAccess[] {
    const isKnown = ['bash', 'sh', 'dash', 'ash'].includes(basename(program))
    return isKnown ? commandAccess(line, place) : [{ kind: 'run', command: line, opaque: true }]
  }

  async function run(input: ShellInput, context: ToolContext): Promise<unknown> {
    const cwd = workplace(root, input.cwd)
    const isSandboxed = await inSandbox()
    const readOnly = nestedRunOf(context).guard?.readOnly === true
    if (isClosed()) throw new Error('the shell was closed: no command can be run any more')

    const order = ({ file, args, env = {} }: Wanted): CommandOrder & { tidy?: () => readonly string[] } => ({
      ...(isSandboxed
        ? contained(file, args, { root, cwd, network, writable, readOnly, env })
        : { file, args }),
      cwd,
      env: { ...commandEnvironment(settings), ...(isSandboxed ? {} : env) },
      maxOutputBytes: settings.maxOutputBytes,
      graceMs: settings.graceMs,
    })
    const refusalOf = (
      output: string,
      { code, refusedHosts }: CommandEnd,
      line = '',
      putAside: readonly string[] = [],
    ) =>
      isSandboxed
        ? sandboxRefusal({
            output,
            exitCode: code,
            isMasked: /[|;\n]/.test(line),
            network,
            refusedHosts,
            root,
            readOnly,
            putAside,
          })
        : undefined
    const finish = async (wanted: Wanted, line = ''): Promise<Told> => {
      const { timeoutMs } = input
      const { signal, progress } = context
      const { tidy, ...command } = order(wanted)
      const outcome = await runToEnd(command, { timeoutMs, signal, progress, onStart }).finally(tidy)
      const { head, tail } = outcome.output.read()
      // The sandbox ends with its command, and nobody sees what was in it then.
      const leftBehind = isSandboxed && leavesBehind(line)
      return { ...outcome, leftBehind, refusal: refusalOf(head + tail, outcome, line, tidy?.()) }
    }

    switch (input.form) {
      case 'line': {
        const wanted = shellLine(input.line)
        if (!input.background) return outcomeText(await finish(wanted, input.line).catch(explain), settings)
        const { signal, runSignal } = context
        const { line } = input
        const { tidy, ...command } = order(wanted)
        const about = {
          line,
          signal,
          runSignal,
          refusalOf: (output: string, end: CommandEnd) => refusalOf(output, end, line, tidy?.()),
          onStart(command: Command) {
            onStart(command)
            void command.ended.then(tidy)
          },
          isAlone: isSandboxed && network !== true,
        }
        return jobs.start(command, about).catch((error) => {
          tidy?.()
          return explain(error)
        })
      }
      case 'lines': {
        const outcomes: Told[] = []
        for (const line of input.lines) outcomes.push(await finish(shellLine(line), line).catch(explain))
        const texts = outcomes.map((told, index) => `$ ${input.lines[index]}\n${outcomeText(told, settings)}`)
        return withCallOutput(texts.join('\n\n'), outcomes, input.maxOutputLength)
      }
      case 'argv': {
        const [file, ...args] = input.argv
        const outcome = await finish({ file, args, env: input.env }).catch((error) => notFound(file, error))
        return withCallOutput(outcomeText(outcome, settings), [outcome], 30_000)
      }
    }
  }

  function contained(...words: Parameters<typeof sandboxed>) {
    const { file, args, filter, tidy } = sandboxed(...words)
    return { file, args, sandbox: { filter, proxy }, tidy }
  }

  function shellLine(line: string): Wanted {
    return { file: program, args: ['-c', '--', line] }
  }

  let found: Promise<boolean> | undefined
  /** Looked for once: what was allowed because there is a sandbox must not run without. */
  function hasSandbox(): Promise<boolean> {
    found ??= sandbox === 'off' ? Promise.resolve(false) : findSandbox({ root, writable }).then(Boolean)
    return found
  }

  async function inSandbox(): Promise<boolean> {
    if (sandbox === 'off') return false
    if (await hasSandbox()) return true
    if (sandbox === 'auto') return false
    throw new Error(
      `commands may run only inside a sandbox, but none works here: ${await sandboxProblem({ root, writable })}. No command will work until the user changes that`,
    )
  }

  function withCallOutput(text: string, outcomes: readonly Told[], maxOutputLength: number) {
    const data = outcomes.map((outcome) => callOutput(outcome, { maxTimeoutMs, maxOutputLength }))
    return toolContent([{ type: 'text', text, opaque: { provider: 'shell', data } }])
  }

  return { access, run }
}

/** What a shell says of a program that is not there or cannot be run. */
function notFound(file: string, error: unknown): Told {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT' && code !== 'EACCES') return explain(error)
  const output = outputStore(1_000)
  const [problem, exit] = code === 'ENOENT' ? ['command not found', 127] : ['permission denied', 126]
  output.push(2, Buffer.from(`${file}: ${problem}\n`))
  return { code: exit, signal: null, ms: 0, leftOver: 0, refusedHosts: [], output }
}

/** Why the operating system would not start it, as something to act on. Other errors stay as they are. */
function explain(error: unknown): never {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (!syscall?.startsWith('spawn')) throw error
  switch (code) {
    case 'E2BIG':
      throw new Error('the command is too long: write it to a file in the workspace and run that', {
        cause: error,
      })
    case 'ENOENT':
    case 'EACCES':
    case 'ENOTDIR':
      throw new Error(
        'the shell could not be started: either it is not installed or the folder to run in is gone. Look whether the folder is there; else tell the user',
        { cause: error },
      )
    default:
      throw new Error(
        `the command could not be started (${code}): the machine may be short of something, try again later`,
        {
          cause: error,
        },
      )
  }
}
