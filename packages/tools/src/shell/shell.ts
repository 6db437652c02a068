import { realpathSync, statSync } from 'node:fs'
import type { Toolbox } from 'millrace'
import { tool } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import {
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  nameOf,
  oneOf,
  someText,
  wholeNumber,
} from 'millrace/internal'
import { background } from './background.ts'
import type { Command } from './command.ts'
import { findProgram } from './find-program.ts'
import { pollSchema } from './poll-input.ts'
import { hostRule } from './sandbox/proxy.ts'
import { sandboxProblem } from './sandbox/sandbox.ts'
import { type ShellSettings, shellCalls } from './shell-calls.ts'
import { shellSchema } from './shell-input.ts'

export interface ShellOptions {
  /** The folder in which commands run. It must exist. */
  readonly workspace: string
  /** How long a command may take if the model does not say; 10 s if absent. */
  readonly timeoutMs?: number | undefined
  /** The longest that a model may ask for; 10 minutes if absent. */
  readonly maxTimeoutMs?: number | undefined
  /** How much of the output is kept, half from its beginning and half from its end; 1 MiB if absent. */
  readonly maxOutputBytes?: number | undefined
  /** How much of a result the model is shown; 30,000 if absent. */
  readonly maxResultChars?: number | undefined
  /** Variables for every command, beside the few that it has anyway. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Names of variables of this process that commands may see too. Without it they see no key. */
  readonly passEnv?: readonly string[] | undefined
  /** `auto`: if there is bubblewrap and it works, and people are told if not. `required`: nothing runs without. */
  readonly sandbox?: 'auto' | 'required' | 'off' | undefined
  /**
   * Lets commands in the sandbox reach the network: all that this machine reaches, or only these hosts (`packages.example.org`,
   * `*.example.com`, `localhost:8080`), over HTTP and HTTPS by a proxy.
   */
  readonly network?: boolean | readonly string[] | undefined
  /** Folders beside the workspace that can be changed from inside the sandbox, and protected paths in it that can: `.husky`. */
  readonly writable?: readonly string[] | undefined
  /** How many commands may run in the background; 8 if absent. */
  readonly maxBackground?: number | undefined
  /** How long each of them may; one hour if absent. */
  readonly backgroundMs?: number | undefined
  /** Between asking processes to end and making them; 500 ms if absent. */
  readonly graceMs?: number | undefined
  /** The shell: bash, or sh if there is none. Of another than these rules cannot tell what a command does. */
  readonly program?: string | undefined
}

export interface ShellToolbox extends Toolbox<unknown> {
  /** What people should know: that commands run without a sandbox, and why. Rejects where one is required and there is none. */
  notices(): Promise<readonly string[]>
  /** Ends everything that still runs. Nothing runs after that; may be called twice. */
  close(): Promise<void>
}

const op = 'shell'

/** The tools `shell` and `shell_output`. Throws `invalid_input` if they cannot work as told. */
export function shell(options: ShellOptions): ShellToolbox {
  const settings = checked(options)
  const { timeoutMs, maxTimeoutMs, maxResultChars } = settings
  const running = new Set<Command>()
  let closed = false

  /** Every command is known here from the moment it runs. */
  function onStart(command: Command) {
    running.add(command)
    command.ended.then(() => running.delete(command))
    if (closed) void command.end()
  }

  const notices = () => sandboxNotices(settings)
  if (settings.sandbox !== 'off')
    void notices().then(
      ([notice]) => notice && warn(notice),
      ({ message }) => warn(message),
    )
  const jobs = background(settings)
  const calls = shellCalls(settings, { jobs, onStart, isClosed: () => closed })

  return {
    tools: [
      tool({
        name: 'shell',
        description: `Run a command line with ${settings.program.split('/').at(-1)} in the workspace. Each call is a shell of its own: folders and variables do not carry over. There is no terminal and nothing to read from: pass -y and the like. Processes that it starts end with it, unless background is true.${settings.sandbox === 'off' ? '' : ' Keep files that later calls need in the workspace: /tmp may be new for each.'}`,
        input: shellSchema({ timeoutMs, maxTimeoutMs }),
        // Its own limit, so that what was printed until then is in the result.
        timeoutMs: Number.POSITIVE_INFINITY,
        maxResultChars,
        access: calls.access,
        run: calls.run,
      }),
      tool({
        name: 'shell_output',
        description:
          'What a command in the background has printed since you last asked, and whether it still runs. Waits for something new if there is nothing.',
        input: pollSchema,
        timeoutMs: Number.POSITIVE_INFINITY,
        maxResultChars,
        polling: true,
        access: () => [],
        run: (request, { signal }) => jobs.poll(request, signal),
      }),
    ],
    notices,
    async close() {
      closed = true
      await Promise.all([...running].map((command) => command.end()))
    },
  }
}

/** Rejects where no command would run. */
async function sandboxNotices({ sandbox, root, writable }: ShellSettings): Promise<readonly string[]> {
  const problem = sandbox === 'off' ? "sandbox is 'off'" : await sandboxProblem({ root, writable })
  if (problem === undefined) return []
  if (sandbox === 'required')
    throw invalidInput(op, `shell: sandbox is 'required', but none works here: ${problem}`)
  return [`Commands run without a sandbox, with all rights of your user: ${problem}.`]
}

let warned = false

/** Tells the host, once in a process, of what it did not choose. */
function warn(message: string) {
  if (!warned) process.emitWarning(message, { code: 'MILLRACE_NO_SANDBOX' })
  warned = true
}

function checked(options: ShellOptions): ShellSettings {
  if (!isObject(options as unknown))
    throw invalidInput(op, `shell() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'shell: the option' })
  if (process.platform === 'win32')
    throw invalidInput(op, 'shell() needs a POSIX system: on Windows run it inside WSL')
  const {
    workspace,
    timeoutMs = 10_000,
    maxTimeoutMs = Math.max(600_000, timeoutMs),
    maxOutputBytes = 2 ** 20,
    maxResultChars = 30_000,
    env = {},
    passEnv = [],
    sandbox = 'auto',
    network = false,
    writable = [],
    maxBackground = 8,
    backgroundMs = 3_600_000,
    graceMs = 500,
    program = findProgram('bash', `${process.env.PATH ?? ''}:/bin:/usr/bin`) ?? '/bin/sh',
  } = options
  if (timeoutMs > maxTimeoutMs)
    throw invalidInput(
      op,
      `shell: timeoutMs (${timeoutMs}) must not be more than maxTimeoutMs (${maxTimeoutMs})`,
    )
  if (typeof network !== 'boolean' && sandbox === 'off')
    throw invalidInput(
      op,
      "shell: a list of hosts as 'network' only works in the sandbox, and it is off: leave one of them out",
    )
  return {
    root: realFolder(workspace),
    timeoutMs,
    maxTimeoutMs,
    maxOutputBytes,
    maxResultChars,
    env,
    passEnv,
    sandbox,
    network: network !== true && network !== false && network.length === 0 ? false : network,
    writable,
    maxBackground,
    backgroundMs,
    graceMs,
    program,
  }
}

function realFolder(workspace: string): string {
  if (workspace === undefined)
    throw invalidInput(op, "shell() needs a workspace: shell({ workspace: '.' }) is the current folder")
  try {
    const real = realpathSync(workspace)
    if (statSync(real).isDirectory()) return real
  } catch (cause) {
    throw invalidInput(op, `shell: there is no folder '${workspace}': create it first`, cause)
  }
  throw invalidInput(op, `shell: the workspace '${workspace}' is a file: give a folder`)
}

/** A timer cannot wait for longer than this, which is 24 days. */
function timer(value: unknown): Problem {
  return (
    !(Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31) &&
    'must be a whole number of milliseconds, from 1 to 2147483647'
  )
}

function texts(value: unknown): Problem {
  return (
    !(Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')) &&
    'must be an array of strings, none of them empty'
  )
}

function networkProblem(value: unknown): Problem {
  if (typeof value === 'boolean') return undefined
  if (!Array.isArray(value)) return `must be true, false or a list of hosts, not ${nameOf(value)}`
  const wrong = value.find((entry) => !isHostRule(entry))
  return (
    wrong !== undefined &&
    `must hold hosts such as packages.example.org, *.example.com or localhost:8080, without scheme and path; not ${nameOf(wrong)}`
  )
}

function isHostRule(entry: unknown): boolean {
  try {
    return typeof entry === 'string' && Boolean(hostRule(entry))
  } catch {
    return false
  }
}

const optionTable: OptionTable<ShellOptions> = {
  workspace: someText,
  timeoutMs: timer,
  maxTimeoutMs: timer,
  maxOutputBytes: wholeNumber(1),
  maxResultChars: wholeNumber(1),
  env: (value) =>
    !(isObject(value) && Object.values(value).every((one) => typeof one === 'string')) &&
    'must be an object of strings',
  passEnv: texts,
  sandbox: oneOf('auto', 'required', 'off'),
  network: networkProblem,
  writable: texts,
  maxBackground: wholeNumber(0),
  backgroundMs: duration,
  graceMs: wholeNumber(0),
  program: someText,
}
