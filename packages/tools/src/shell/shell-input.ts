import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from 'millrace'
import { closest, isObject, kindOf } from 'millrace/internal'

interface Common {
  /** As it was written: relative to the workspace, or not. */
  readonly cwd: string | undefined
  readonly timeoutMs: number
}

/**
 * What a call asks for. Models are shown the first form only. The Responses API has tools of its own for this, whose calls are
 * taken too: `local_shell_call` gives the words of one command, `shell_call` several lines.
 */
export type ShellInput = Common &
  (
    | { readonly form: 'line'; readonly line: string; readonly background: boolean }
    | {
        readonly form: 'argv'
        readonly argv: readonly [string, ...string[]]
        readonly env: Readonly<Record<string, string>>
      }
    | { readonly form: 'lines'; readonly lines: readonly string[]; readonly maxOutputLength: number }
  )

type Problem = string | false | undefined
type Fields = Readonly<Record<string, (value: unknown) => Problem>>

const text = (value: unknown): Problem =>
  typeof value !== 'string'
    ? `must be a string, not ${kindOf(value)}`
    : value.trim() === ''
      ? 'must not be empty'
      : value.includes('\0') && 'must not contain a zero byte'

const milliseconds = (value: unknown): Problem =>
  !(Number.isInteger(value) && Number(value) > 0) && 'must be a whole number of milliseconds, at least 1'

const listOf =
  (check: (value: unknown) => Problem) =>
  (value: unknown): Problem => {
    if (!Array.isArray(value) || value.length === 0) return 'must be an array of strings with at least one'
    return value.map(check).find(Boolean)
  }

const word = (value: unknown): Problem =>
  typeof value !== 'string'
    ? 'must hold only strings'
    : value.includes('\0') && 'must not contain a zero byte'

const lineFields: Fields = {
  command: text,
  cwd: text,
  timeout_ms: milliseconds,
  background: (value) => typeof value !== 'boolean' && `must be true or false, not ${kindOf(value)}`,
}

const argvFields: Fields = {
  command: (value) =>
    listOf(word)(value) || (Array.isArray(value) && !value[0] && 'must begin with a program'),
  env: (value) => {
    if (!isObject(value)) return `must be an object, not ${kindOf(value)}`
    const fits = ([name, one]: [string, unknown]) => /^[A-Za-z_]\w*$/.test(name) && !word(one)
    return !Object.entries(value).every(fits) && 'must hold names of variables and strings'
  },
  working_directory: text,
  timeout_ms: milliseconds,
  user: () => 'cannot be chosen: commands run as the user who runs the agent',
}

const linesFields: Fields = {
  commands: listOf(text),
  timeout_ms: milliseconds,
  max_output_length: (value) =>
    !(Number.isInteger(value) && Number(value) > 0) && 'must be a whole number above 0',
}

/** The schema of the tool, and the check that takes all three forms. */
export function shellSchema({
  timeoutMs,
  maxTimeoutMs,
}: {
  timeoutMs: number
  maxTimeoutMs: number
}): JsonSchema<ShellInput> {
  /** More than may be asked for is cut to that: the result says how long there was if it was not enough. */
  const timeOf = (asked: unknown) => Math.min(typeof asked === 'number' ? asked : timeoutMs, maxTimeoutMs)

  function validate(value: unknown): StandardSchemaV1.Result<ShellInput> {
    if (!isObject(value)) return { issues: [{ message: `must be an object, not ${kindOf(value)}` }] }
    // The Responses API writes null for what is not there.
    const given = Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null))
    const fields = 'commands' in given ? linesFields : Array.isArray(given.command) ? argvFields : lineFields
    const issues = issuesOf(given, fields)
    if (issues.length > 0) return { issues }
    return { value: read(given, fields) }
  }

  function read(given: Record<string, unknown>, fields: Fields): ShellInput {
    const timeout = timeOf(given.timeout_ms)
    if (fields === linesFields) {
      const { commands, max_output_length: most = 30_000 } = given as {
        commands: string[]
        max_output_length?: number
      }
      return { form: 'lines', lines: commands, maxOutputLength: most, cwd: undefined, timeoutMs: timeout }
    }
    if (fields === argvFields) {
      const {
        command,
        env = {},
        working_directory: cwd,
      } = given as {
        command: [string, ...string[]]
        env?: Record<string, string>
        working_directory?: string
      }
      return { form: 'argv', argv: command, env, cwd, timeoutMs: timeout }
    }
    const {
      command,
      cwd,
      background = false,
    } = given as { command: string; cwd?: string; background?: boolean }
    return { form: 'line', line: command, background, cwd, timeoutMs: timeout }
  }

  return {
    jsonSchema: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'The command line' },
        cwd: {
          type: 'string',
          description: 'Folder to run it in, inside the workspace, which it is if absent',
        },
        timeout_ms: {
          type: 'integer',
          minimum: 1,
          maximum: maxTimeoutMs,
          description: `It is stopped after so long; ${timeoutMs} if absent`,
        },
        background: {
          type: 'boolean',
          description: 'Leave it running, for servers and long jobs; poll it with shell_output',
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    validate,
  }
}

function issuesOf(given: Readonly<Record<string, unknown>>, fields: Fields): StandardSchemaV1.Issue[] {
  const names = Object.keys(fields)
  const [main = ''] = names
  const missing = main in given ? [] : [{ message: 'is missing: it is the command to run', path: [main] }]
  const wrong = Object.entries(given).flatMap(([name, value]) => {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!check) {
      const like = closest(name, names)
      const known = like ? `did you mean '${like}'?` : `there are ${names.join(', ')}`
      return [{ message: `does not exist: ${known}`, path: [name] }]
    }
    const problem = check(value)
    return problem ? [{ message: problem, path: [name] }] : []
  })
  return [...missing, ...wrong]
}
