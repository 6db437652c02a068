import { homedir } from 'node:os'
import { basename } from 'node:path'
import type { Access, ToolContext } from 'millrace'
import { toolContent } from 'millrace'
import { nestedRunOf } from 'millrace/internal'
import { inEditor } from '../editor.ts'
import type { Background } from './background.ts'
import type { Command, CommandEnd, CommandSpec } from './command.ts'
import type { WrittenAccess } from './commands/plain-line.ts'
import { commandEnvironment } from './environment.ts'
import { runToEnd } from './foreground.ts'
import { expandGlobs } from './globs.ts'
import { followAccessLinks } from './links.ts'
import { outputStore } from './output-store.ts'
import { type CommandReport, callOutput, outcomeText } from './result-text.ts'
import { hostProxy } from './sandbox/proxy.ts'
import { findSandbox, sandboxDenial, sandboxed, sandboxProblem } from './sandbox/sandbox.ts'
import type { ShellInput } from './shell-input.ts'
import { startInTerminal } from './terminal-command.ts'
import { expectedWorkingDirectory, workingDirectory } from './working-directory.ts'

/** The options of `shell()` with defaults filled in. */
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

interface ShellState {
  readonly jobs: Background
  readonly onStart: (command: Command) => void
  readonly isClosed: () => boolean
}

/** A program and its arguments, before it is wrapped in the sandbox. */
interface Invocation {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Implements the `shell` tool for all forms of input. */
export function shellCalls(settings: ShellSettings, { jobs, onStart, isClosed }: ShellState) {
  const { root, program, network, writable, sandbox, maxTimeoutMs } = settings
  const proxy = typeof network === 'boolean' ? undefined : hostProxy(network)

  async function access(input: ShellInput): Promise<readonly Access[]> {
    const accesses = (await accessAsWritten(input)).flatMap((one) =>
      expandGlobs(one, root).map((found) => followAccessLinks(found, root)),
    )
    // With full network access a command could send out what it reads.
    const isOpen = typeof network === 'boolean' ? network : network.includes('*')
    const contained = !isOpen && (await hasSandbox())
    return contained ? accesses.map((one) => (one.kind === 'fetch' ? one : { ...one, contained })) : accesses
  }

  /** The accesses as written, before globs and links are resolved. */
  async function accessAsWritten(input: ShellInput): Promise<readonly WrittenAccess[]> {
    // The parser of bash is most of what the shell tool loads.
    const { argvAccess, commandAccess } = await import('./commands/commands.ts')
    const home = settings.env.HOME ?? process.env.HOME ?? homedir()
    const folders = { root, cwd: expectedWorkingDirectory(root, input.cwd), home }
    switch (input.form) {
      case 'line':
        return lineAccess(input.line)
      case 'lines':
        return input.lines.flatMap(lineAccess)
      case 'argv':
        return argvAccess(input.argv, folders, input.env)
    }

    /** The syntax of other shells is not known. */
    function lineAccess(line: string): readonly WrittenAccess[] {
      const isKnown = ['bash', 'sh', 'dash', 'ash'].includes(basename(program))
      return isKnown ? commandAccess(line, folders) : [{ kind: 'run', command: line, opaque: true }]
    }
  }

  async function run(input: ShellInput, context: ToolContext): Promise<unknown> {
    const cwd = workingDirectory(root, input.cwd)
    const isSandboxed = await inSandbox()
    // The sandbox confines only processes of this one.
    const editor = isSandboxed ? undefined : inEditor(context, cwd)
    const readOnly = nestedRunOf(context).policies?.isReadOnly() === true
    if (isClosed()) throw new Error('the shell is closed: it can no longer run commands')

    const specFor = ({
      file,
      args,
      env = {},
    }: Invocation): CommandSpec & { tidy?: () => readonly string[] } => ({
      ...(isSandboxed
        ? contained(file, args, { root, cwd, network, writable, readOnly, env })
        : { file, args }),
      cwd,
      env: { ...commandEnvironment(settings), ...(isSandboxed ? {} : env) },
      maxOutputBytes: settings.maxOutputBytes,
      graceMs: settings.graceMs,
    })
    const denialOf = (
      output: string,
      { code, deniedHosts }: CommandEnd,
      line = '',
      putAside: readonly string[] = [],
    ) =>
      isSandboxed
        ? sandboxDenial({
            output,
            exitCode: code,
            isMasked: /[|;\n]/.test(line),
            network,
            deniedHosts,
            root,
            readOnly,
            putAside,
          })
        : undefined
    const finish = async (wanted: Invocation, line = ''): Promise<CommandReport> => {
      const { timeoutMs } = input
      const { signal, progress } = context
      const { tidy, ...command } = specFor(wanted)
      const start =
        editor?.client.createTerminal &&
        ((spec: CommandSpec) => startInTerminal(editor, spec, { timeoutMs, signal, progress }))
      const outcome = await runToEnd(command, { timeoutMs, signal, progress, onStart, start }).finally(tidy)
      const { head, tail } = outcome.output.read()
      // The sandbox ends with its command, so remaining processes cannot be counted.
      const leftBehind = isSandboxed && (await import('./left-behind.ts')).leavesBehind(line)
      return { ...outcome, leftBehind, denial: denialOf(head + tail, outcome, line, tidy?.()) }
    }

    switch (input.form) {
      case 'line': {
        const wanted = shellLine(input.line)
        if (!input.background) return outcomeText(await finish(wanted, input.line).catch(explain), settings)
        const { signal, runSignal } = context
        const { line } = input
        const { tidy, ...command } = specFor(wanted)
        const about = {
          line,
          signal,
          runSignal,
          denialOf: (output: string, end: CommandEnd) => denialOf(output, end, line, tidy?.()),
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
        const outcomes: CommandReport[] = []
        for (const line of input.lines) outcomes.push(await finish(shellLine(line), line).catch(explain))
        const texts = outcomes.map(
          (report, index) => `$ ${input.lines[index]}\n${outcomeText(report, settings)}`,
        )
        return withCallOutput(texts.join('\n\n'), outcomes, input.maxOutputLength)
      }
      case 'argv': {
        const [file, ...args] = input.argv
        const outcome = await finish({ file, args, env: input.env }).catch((error) => notFound(file, error))
        return withCallOutput(outcomeText(outcome, settings), [outcome], 30_000)
      }
    }
  }

  function contained(...input: Parameters<typeof sandboxed>) {
    const { file, args, filter, tidy } = sandboxed(...input)
    return { file, args, sandbox: { filter, proxy }, tidy }
  }

  function shellLine(line: string): Invocation {
    return { file: program, args: ['-c', '--', line] }
  }

  let found: Promise<boolean> | undefined
  /** Checked once: a call allowed because of the sandbox must not run without it. */
  function hasSandbox(): Promise<boolean> {
    found ??= sandbox === 'off' ? Promise.resolve(false) : findSandbox({ root, writable }).then(Boolean)
    return found
  }

  async function inSandbox(): Promise<boolean> {
    if (sandbox === 'off') return false
    if (await hasSandbox()) return true
    if (sandbox === 'auto') return false
    throw new Error(
      `commands may run only in a sandbox, but no sandbox works here: ${await sandboxProblem({ root, writable })}. No command will work until the user fixes this`,
    )
  }

  function withCallOutput(text: string, outcomes: readonly CommandReport[], maxOutputLength: number) {
    const data = outcomes.map((outcome) => callOutput(outcome, { maxTimeoutMs, maxOutputLength }))
    return toolContent([{ type: 'text', text, opaque: { provider: 'shell', data } }])
  }

  return { access, run }
}

/** What a shell prints if a program is missing or cannot be run. */
function notFound(file: string, error: unknown): CommandReport {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOENT' && code !== 'EACCES') return explain(error)
  const output = outputStore(1_000)
  const [problem, exit] = code === 'ENOENT' ? ['command not found', 127] : ['permission denied', 126]
  output.push(2, Buffer.from(`${file}: ${problem}\n`))
  return { code: exit, signal: null, ms: 0, leftOver: 0, deniedHosts: [], output }
}

/** Turns spawn errors into messages to act on. Rethrows other errors. */
function explain(error: unknown): never {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (!syscall?.startsWith('spawn')) throw error
  switch (code) {
    case 'E2BIG':
      throw new Error('the command is too long: write it to a file in the workspace and run the file', {
        cause: error,
      })
    case 'ENOENT':
    case 'EACCES':
    case 'ENOTDIR':
      throw new Error(
        'the shell could not be started: it is not installed, or the working directory no longer exists. Check the directory; if it exists, tell the user',
        { cause: error },
      )
    default:
      throw new Error(
        `the command could not be started (${code}): the machine may be out of resources, try again later`,
        {
          cause: error,
        },
      )
  }
}
