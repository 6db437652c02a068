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
import { callDisplay } from '../display.ts'
import { background } from './background.ts'
import type { Command } from './command.ts'
import { findProgram } from './find-program.ts'
import { pollSchema } from './poll-input.ts'
import { hostRule } from './sandbox/proxy.ts'
import { sandboxProblem } from './sandbox/sandbox.ts'
import { type ShellSettings, shellCalls } from './shell-calls.ts'
import { shellSchema, writtenCommand } from './shell-input.ts'

export interface ShellOptions {
  /** The folder where commands run. It must exist. */
  readonly workspace: string
  /** Default timeout of a command; 10 s by default. */
  readonly timeoutMs?: number | undefined
  /** The longest timeout that a model can set; 10 minutes by default. */
  readonly maxTimeoutMs?: number | undefined
  /** How much output is kept, half from the beginning and half from the end; 1 MiB by default. */
  readonly maxOutputBytes?: number | undefined
  /** How many characters of a result the model sees; 30,000 by default. */
  readonly maxResultChars?: number | undefined
  /** Variables for every command, in addition to a few defaults. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Names of variables of this process to pass to commands. By default they see no secrets. */
  readonly passEnv?: readonly string[] | undefined
  /**
   * `auto` (default): use a sandbox if one works, otherwise warn. `required`: run nothing without
   * one.
   */
  readonly sandbox?: 'auto' | 'required' | 'off' | undefined
  /**
   * Network access in the sandbox: everything (`true`), or only these hosts (`packages.example.org`,
   * `*.example.com`, `localhost:8080`), over HTTP and HTTPS through a proxy. None by default.
   */
  readonly network?: boolean | readonly string[] | undefined
  /**
   * More paths that are writable in the sandbox: other folders, or protected paths such as
   * `.husky`.
   */
  readonly writable?: readonly string[] | undefined
  /** How many commands may run in the background; 8 by default. */
  readonly maxBackground?: number | undefined
  /** How long a background command may run; one hour by default. */
  readonly backgroundMs?: number | undefined
  /** Time between SIGTERM and SIGKILL; 500 ms by default. */
  readonly graceMs?: number | undefined
  /**
   * The shell; bash by default, or sh. Permission rules cannot parse the syntax of other shells.
   */
  readonly program?: string | undefined
}

export interface ShellToolbox extends Toolbox<unknown> {
  /**
   * Notices for people: that commands run without a sandbox, and why. Rejects if a required sandbox
   * is missing.
   */
  notices(): Promise<readonly string[]>
  /** Ends all running commands. No command runs afterwards. Can be called twice. */
  close(): Promise<void>
}

const op = 'shell'

/** The tools `shell` and `shell_output`. Throws `invalid_input` if the options are invalid. */
export function shell(options: ShellOptions): ShellToolbox {
  const settings = checked(options)
  const { timeoutMs, maxTimeoutMs, maxResultChars } = settings
  const running = new Set<Command>()
  let closed = false

  /** Registers every command as soon as it runs. */
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
        description: `Run a command line with ${settings.program.split('/').at(-1)} in the workspace. Each call runs in a new shell: working directory and variables do not carry over. There is no terminal and stdin is empty: pass -y and similar flags. Processes it starts end with it, unless background is true.${settings.sandbox === 'off' ? '' : ' Keep files that later calls need in the workspace: /tmp may be empty in each call.'}`,
        input: shellSchema({ timeoutMs, maxTimeoutMs }),
        // The tool has its own timeout, so that the result contains the output so far.
        timeoutMs: Number.POSITIVE_INFINITY,
        maxResultChars,
        access: calls.access,
        display: (input) => callDisplay({ kind: 'execute', title: writtenCommand(input) }),
        run: calls.run,
      }),
      tool({
        name: 'shell_output',
        description:
          'Get what a background command has printed since the last call, and whether it still runs. Waits if there is no new output.',
        input: pollSchema,
        timeoutMs: Number.POSITIVE_INFINITY,
        maxResultChars,
        polling: true,
        access: () => [],
        display: ({ id }) => callDisplay({ kind: 'execute', title: `Output of ${id}` }),
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

/** Rejects if a sandbox is required and none works. */
async function sandboxNotices({ sandbox, root, writable }: ShellSettings): Promise<readonly string[]> {
  const problem = sandbox === 'off' ? "sandbox is 'off'" : await sandboxProblem({ root, writable })
  if (problem === undefined) return []
  if (sandbox === 'required')
    throw invalidInput(op, `shell: sandbox is 'required', but no sandbox works here: ${problem}`)
  return [`Commands run without a sandbox, with all permissions of your user: ${problem}.`]
}

let warned = false

/** Warns once per process. */
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
      "shell: a list of hosts in 'network' needs the sandbox, which is off: remove one of the two options",
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
  throw invalidInput(op, `shell: the workspace '${workspace}' is a file: pass a folder`)
}

/** Timers cannot wait longer than 2^31 - 1 ms (24 days). */
function timer(value: unknown): Problem {
  return (
    !(Number.isInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31) &&
    'must be a whole number of milliseconds, from 1 to 2147483647'
  )
}

function texts(value: unknown): Problem {
  return (
    !(Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')) &&
    'must be an array of non-empty strings'
  )
}

function networkProblem(value: unknown): Problem {
  if (typeof value === 'boolean') return undefined
  if (!Array.isArray(value)) return `must be true, false or a list of hosts, not ${nameOf(value)}`
  const wrong = value.find((entry) => !isHostRule(entry))
  return (
    wrong !== undefined &&
    `must contain hosts such as packages.example.org, *.example.com or localhost:8080, without scheme or path; not ${nameOf(wrong)}`
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
