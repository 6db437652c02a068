import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from 'millrace'
import { closest, isObject, kindOf } from 'millrace/internal'

interface Common {
  /** As written: relative to the workspace, or absolute. */
  readonly cwd: string | undefined
  readonly timeoutMs: number
}

/**
 * The input of a call. Models are shown only the first form. The calls of the built-in shell tools of
 * the Responses API are accepted too: `local_shell_call` has the argv of one command, `shell_call`
 * several lines.
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

/** The command as the model wrote it. */
export function writtenCommand(input: ShellInput): string {
  switch (input.form) {
    case 'line':
      return input.line
    case 'lines':
      return input.lines.join('\n')
    case 'argv':
      return input.argv.join(' ')
  }
}

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
    if (!Array.isArray(value) || value.length === 0) return 'must be a non-empty array of strings'
    return value.map(check).find(Boolean)
  }

const word = (value: unknown): Problem =>
  typeof value !== 'string'
    ? 'must contain only strings'
    : value.includes('\0') && 'must not contain a zero byte'

const lineFields: Fields = {
  command: text,
  cwd: text,
  timeout_ms: milliseconds,
  background: (value) => typeof value !== 'boolean' && `must be true or false, not ${kindOf(value)}`,
}

const argvFields: Fields = {
  command: (value) =>
    listOf(word)(value) || (Array.isArray(value) && !value[0] && 'must start with a program'),
  env: (value) => {
    if (!isObject(value)) return `must be an object, not ${kindOf(value)}`
    const fits = ([name, one]: [string, unknown]) => /^[A-Za-z_]\w*$/.test(name) && !word(one)
    return !Object.entries(value).every(fits) && 'must map variable names to strings'
  },
  working_directory: text,
  timeout_ms: milliseconds,
  user: () => 'is not supported: commands run as the user who runs the agent',
}

const linesFields: Fields = {
  commands: listOf(text),
  timeout_ms: milliseconds,
  max_output_length: (value) =>
    !(Number.isInteger(value) && Number(value) > 0) && 'must be a whole number above 0',
}

/** The tool's schema, with a validator that accepts all three forms. */
export function shellSchema({
  timeoutMs,
  maxTimeoutMs,
}: {
  timeoutMs: number
  maxTimeoutMs: number
}): JsonSchema<ShellInput> {
  /** Longer timeouts are capped; if the command times out, the result says after how long. */
  const timeOf = (asked: unknown) => Math.min(typeof asked === 'number' ? asked : timeoutMs, maxTimeoutMs)

  function validate(value: unknown): StandardSchemaV1.Result<ShellInput> {
    if (!isObject(value)) return { issues: [{ message: `must be an object, not ${kindOf(value)}` }] }
    // The Responses API sends null for absent fields.
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
          description: 'Working directory inside the workspace; the workspace itself by default',
        },
        timeout_ms: {
          type: 'integer',
          minimum: 1,
          maximum: maxTimeoutMs,
          description: `The command is stopped after this time; ${timeoutMs} by default`,
        },
        background: {
          type: 'boolean',
          description: 'Keep it running, for servers and long jobs; poll it with shell_output',
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
  const missing = main in given ? [] : [{ message: 'is missing: pass the command to run', path: [main] }]
  const wrong = Object.entries(given).flatMap(([name, value]) => {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!check) {
      const like = closest(name, names)
      const known = like ? `did you mean '${like}'?` : `known fields: ${names.join(', ')}`
      return [{ message: `does not exist: ${known}`, path: [name] }]
    }
    const problem = check(value)
    return problem ? [{ message: problem, path: [name] }] : []
  })
  return [...missing, ...wrong]
}
